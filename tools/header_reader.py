"""Reads the declarations of a C++ header, with the comments that stand before and after them.

It knows the layout that clang-format gives these headers, not the language: where declarations begin and end, which
braces are bodies, and what is private. Both branches of an #if are read. tests/docs/api_test.py shows what it must see.
"""
import dataclasses
import re

OPEN, CLOSE = "([{", ")]}"
# Names that only the headers themselves use.
HIDDEN_NAMESPACES = {"detail"}
MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]+\(")
TEMPLATE = re.compile(r"template\s*<")


@dataclasses.dataclass
class Declaration:
    kind: str  # type, function, value, alias, macro
    names: list
    comment: list  # the lines before it, without the slashes
    text: str  # as a reader wants it: without bodies and what is private
    begin: int
    end: int
    line: int
    trailing: str = ""


def masked(text):
    """The text with blanks in the place of comments, literals and directives."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found[0])

    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'
    return re.sub(pattern, blank, text, flags=re.M | re.S)


def matching(mask, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(mask)):
        if mask[i] in OPEN:
            depth += 1
        elif mask[i] in CLOSE:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError(f"a bracket is not closed: {mask[at:at + 60]!r}")


def without_template(head):
    """A head without its `template <...>` and `requires(...)` in front, and without attributes."""
    head = re.sub(r"\[\[.*?\]\]", "", head, flags=re.S).strip()
    while found := TEMPLATE.match(head):
        depth, i = 1, found.end()
        while depth:
            if head[i] in OPEN:
                i = matching(head, i)
            depth += {"<": 1, ">": -1}.get(head[i], 0)
            i += 1
        head = head[i:].strip()
        if found := re.match(r"requires\s*\(", head):
            head = head[matching(head, found.end() - 1) + 1:].strip()
    return head


def top_level(text):
    """The text with what stands in brackets blanked out."""
    out, depth = [], 0
    for c in text:
        if c in CLOSE:
            depth -= 1
        out.append(c if depth == 0 else " ")
        if c in OPEN:
            depth += 1
    return "".join(out)


def is_type(head):
    plain = top_level(without_template(head))
    return re.match(r"(typedef\s+)?(WW_\w+(\(\s*\))?\s+)*(class|struct|union|enum)\b", plain) and "=" not in plain


def has_value(head):
    return "=" in re.sub(r"operator\s*[^\w\s(]+", "", top_level(without_template(head))) \
        or re.search(r"[=!<>]=", head) is not None and "(" not in top_level(head)


def name_of(head):
    """(kind, name) of a declaration, from what stands before its body or its semicolon."""
    head = without_template(head)
    plain = top_level(head)
    if found := re.match(r"using\s+(\w+)\s*=", plain):
        return "alias", found[1]
    if re.match(r"using\b", plain):
        return "using", ""
    if re.match(r"(friend|static_assert)\b", plain):
        return "hidden", ""
    if is_type(head):
        words = re.sub(r"\balignas\((?:[^()]|\([^()]*\))*\)", " ", head)
        words = re.sub(r"\b(typedef|final|WW_\w+(\([^)]*\))?)", " ", words)
        found = re.search(r"\b(?:enum\s+class|enum\s+struct|class|struct|union|enum)\s+([\w:]+)", words)
        return "type", found[1] if found else ""
    operator = re.search(r"operator\s*(\(\s*\)|\[\s*\]|[^\s\w(]+|[\w&* ]+?(?=\s*\())", head)
    if operator and "(" in head[operator.end():operator.end() + 2]:
        return "function", "operator" + operator[1].replace(" ", "")
    # Macros with arguments before a name stand for attributes.
    called = re.sub(r"\bWW_[A-Z_]+\([^()]*(\([^()]*\))?[^()]*\)", " ", head)
    plain = top_level(called)
    before = re.split(r"=|\{", plain)[0]
    if found := re.search(r"((?:\w+::)*~?[A-Za-z_]\w*)\s*\(", before):
        return ("function", found[1]) if not re.search(r"\(\s*\*", called[:called.find("(") + 3]) else \
            ("value", re.search(r"\(\s*\*\s*(\w+)", called)[1])
    found = re.search(r"(\w+)\s*(<.*>)?\s*(\[[^=]*)?$", before.strip().rstrip(";"))
    further = re.findall(r",\s*(\w+)\s*=", plain) if "<" not in before else []
    return "value", " ".join([found[1], *further]) if found else ""


class Reader:
    def __init__(self, text):
        self.text, self.mask = text, masked(text)
        self.line_starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def line_of(self, at):
        low, high = 0, len(self.line_starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.line_starts[middle] <= at else (low, middle)
        return low

    def line(self, number):
        return self.text[self.line_starts[number]:].partition("\n")[0]

    def pieces(self, at, end):
        """(begin, body or None, end) of the declarations between two places; a body is the place of its brace."""
        while True:
            at = next((i for i in range(at, end) if not self.mask[i].isspace() and self.mask[i] != ";"), end)
            if at == end:
                return
            label = re.match(r"(public|private|protected)\s*:(?!:)", self.mask[at:end])
            if label:
                yield at, None, at + label.end()
                at += label.end()
                continue
            begin, i, body = at, at, None
            macro = MACRO_CALL.match(self.mask, at)
            if macro:
                close = matching(self.mask, macro.end() - 1)
                behind = self.mask[close + 1:end]
                if behind.partition("\n")[0].strip() == "" and not re.match(r"\s*[{:]", behind):
                    yield begin, None, close + 1
                    at = close + 1
                    continue
            while i < end:
                c = self.mask[i]
                if c == ";":
                    i += 1
                    break
                if c == "{":
                    close, head = matching(self.mask, i), self.mask[begin:i]
                    block = re.match(r"\s*(inline\s+)?namespace\b|\s*extern\s*$", head)
                    follows = self.mask[close + 1:end].lstrip()[:1]
                    if block or not is_type(head) and not has_value(head) and "(" in head \
                            and follows not in (",", "{"):
                        body, i = i, close + 1
                        break
                    if is_type(head):
                        body = i
                    i = close + 1
                elif c in OPEN:
                    i = matching(self.mask, i) + 1
                else:
                    i += 1
            yield begin, body, i
            at = i

    def comment_before(self, begin):
        """The comment that ends on the line above, without its marks; directives may stand between."""
        number = self.line_of(begin) - 1
        while number >= 0 and re.match(r"\s*#\s*(if|endif|else|define WW_C_)", self.line(number)):
            number -= 1
        lines = []
        while number >= 0 and (found := re.match(r"\s*// ?(.*)", self.line(number))):
            lines.insert(0, found[1].rstrip())
            number -= 1
        if lines or number < 0 or not self.line(number).rstrip().endswith("*/"):
            return lines
        last = number
        while "/*" not in self.line(number):
            number -= 1
        if not self.line(number).lstrip().startswith("/*"):
            return []
        block = "\n".join(self.line(n) for n in range(number, last + 1))
        return [re.sub(r"^\s*(/\*|\*(?!/))? ?", "", line).rstrip() for line in block.replace("*/", "").splitlines()]

    def trailing(self, end):
        found = re.match(r"[ \t]*(?://|/\*) ?([^\n]*)", self.text[end:])
        return found[1].replace("*/", "").strip() if found else ""

    def shown(self, begin, body, end):
        """The text of a declaration for readers: heads of functions, types without what is private."""
        head = self.mask[begin:body if body is not None else end]
        if body is None:
            return self.text[begin:end]
        if is_type(head):
            return self.text[begin:body] + "{" + self.members(head, body + 1, matching(self.mask, body)) + \
                self.text[matching(self.mask, body):end]
        return self.head_of_function(begin, body) + ";"

    def head_of_function(self, begin, body):
        head, mask = self.text[begin:body], self.mask[begin:body]
        plain = top_level(mask)
        initializers = re.search(r"\)\s*(?:noexcept\s*)?(:)(?!:)", plain)
        return head[:initializers.start(1)].rstrip() if initializers else head.rstrip()

    def members(self, head, begin, end):
        if re.match(r"(typedef\s+)?enum\b", without_template(head)):
            return self.text[begin:end]
        # A class that a macro declares may begin with its private part, a struct never does.
        public = re.search(r"\bclass\b", top_level(without_template(head))) is None
        out, at = [], begin
        for first, body, last in self.pieces(begin, end):
            label = re.match(r"(public|private|protected)\s*:", self.mask[first:last])
            between = self.text[at:first]
            kind = "hidden" if label else name_of(self.mask[first:body if body is not None else last])[0]
            if label:
                public = label[1] == "public"
            if public and kind != "hidden":
                out.append(between + self.shown(first, body, last))
            else:
                # What belongs to the hidden one goes with it; directives stay in pairs.
                out += ["\n" + line for line in between.splitlines() if re.match(r"\s*#", line)]
                line_end = self.text.find("\n", last)
                rest = self.text[last:line_end]
                if rest.lstrip().startswith(("//", "/*")):
                    last = line_end
            at = last
        return tidy("".join(out) + self.text[at:end])

    def declarations(self, begin=0, end=None):
        end = len(self.text) if end is None else end
        for first, body, last in self.pieces(begin, end):
            head = self.mask[first:body if body is not None else last]
            space = re.match(r"\s*(?:inline\s+)?namespace\b\s*([\w:\s]*)", head)
            if body is not None and (space or re.match(r"\s*extern\s*$", head)):
                if not space or not set(re.split(r"\W+", space[1])) & HIDDEN_NAMESPACES:
                    yield from self.declarations(body + 1, matching(self.mask, body))
                continue
            macro = MACRO_CALL.match(head)
            if macro and matching(head, macro.end() - 1) == len(head) - 1:
                names = re.match(r"WW_WORDS\((\w+), (\w+)", head)
                kind, found = ("macro", [names[1], names[2]] if names else [])
            else:
                kind, name = name_of(head)
                found = name.split() if kind == "value" else [name] if name else []
                if kind == "type" and body is None and not head.lstrip().startswith("typedef"):
                    continue  # a name that is declared later
                if "::" in (name or "") or kind == "function" and "->" in top_level(head).rpartition(")")[2]:
                    continue  # a member that is defined outside of its class, or a deduction guide
            if not found or kind in ("using", "hidden"):
                continue
            yield Declaration(kind, found, self.comment_before(first), self.shown(first, body, last), first, last,
                              self.line_of(first) + 1, self.trailing(last))

    def macros(self):
        """What #define gives a program: with a comment of its own, and without the tables of words."""
        for found in re.finditer(r"^#define (WW_\w+)((?:[^\n]*\\\n)*[^\n]*)", self.text, flags=re.M):
            comment = self.comment_before(found.start())
            if comment and "(" not in found[2][:1]:
                yield Declaration("macro", [found[1]], comment, found[0], found.start(), found.end(),
                                  self.line_of(found.start()) + 1)

    def file_comment(self):
        lines = []
        for line in self.text.splitlines():
            found = re.match(r"(?://|/\*| \*) ?(.*)", line)
            if not found:
                break
            lines.append(found[1].replace("*/", "").rstrip())
        return lines


def tidy(text):
    """Without directives that hold nothing, and without runs of blank lines."""
    before = None
    while before != text:
        before = text
        text = re.sub(r"\n[ \t]*#if[^\n]*\n\s*(?:#else[^\n]*\n\s*)?#endif[^\n]*", "", text)
        text = re.sub(r"\n[ \t]*#else[^\n]*\n(\s*#endif)", r"\n\1", text)
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n(\s*\n)+", "\n\n", text)
