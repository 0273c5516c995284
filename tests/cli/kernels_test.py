"""Kernels of one's own that `check` was not written for, in tests/cli/kernels and examples/kernels: the correct ones
must be clean, and of each mistake the first line must have the rule, the words and the line that the entry of mistakes.py asks for. What was
said of them before the checker was mended is in docs/evidence/planted-unseen3-own.txt.

Usage: kernels_test.py TOOL [--all | --record]

Without an option every second correct kernel and the mistakes named SAMPLE; --record prints a line for each of all.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from own_kernel import in_parallel, tool_of

FOLDER = pathlib.Path(__file__).resolve().parent / "kernels"
sys.path.insert(0, str(FOLDER))
import mistakes  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "kernels"
CORRECT = {path.stem: path.read_text() for folder in (FOLDER, EXAMPLES) for path in sorted(folder.glob("*.cpp"))}

# One for each kind of sentence that was mended for these kernels.
SAMPLE = {"histogram.no_zero", "split.no_fence", "split.no_fence_behind", "split.no_reset", "multicast.bytes", "multicast.ctas",
          "flag.plain_load", "flag.next", "start.no_wait", "compact.lanes_leave", "tcgen05.idesc", "bulk.misaligned"}
SECONDS = 120


def changed(mistake):
    text = CORRECT[mistake.kernel]
    for old, new, *which in mistake.edits:
        assert which or text.count(old) == 1, (mistake.id, old, text.count(old))
        at = -1
        for _ in range(which[0] if which else 1):
            at = text.index(old, at + 1)
        text = text[:at] + new + text[at + len(old):]
    return text


def first_line(tool, kernel, text):
    """The exit code, the rule, the first line of the report, and the lines of the source that it names."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / f"{kernel}.cpp").write_text(text)
        try:
            result = subprocess.run([tool, "check", f"{kernel}.cpp", "--json"], cwd=folder, capture_output=True, text=True,
                                    timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return -1, "hangs", f"it did not end in {SECONDS} s", []
    lines = text.splitlines()
    if result.returncode == 2:
        sentence = result.stderr.splitlines()[-1]
        rule = "compile" if "does not compile" in sentence else "refused"
        places = re.findall(rf"{kernel}\.cpp:(\d+)", sentence)
        return 2, rule, sentence, [lines[int(n) - 1] for n in places]
    try:
        checked = json.loads(result.stdout)["kernels"][0]
    except (json.JSONDecodeError, KeyError, IndexError):
        return result.returncode, "broke", (result.stderr.splitlines() or [""])[-1], []
    finding = checked.get("finding") or {}
    rule = finding.get("rule") or checked["verdict"]
    sentence = finding.get("message") or checked.get("report") or ""
    places = re.findall(rf"{kernel}\.cpp:(\d+)", sentence) + [finding[key] for key in ("line", "called_line") if finding.get(key)]
    return result.returncode, rule, sentence, [lines[int(n) - 1] for n in places if 0 < int(n) <= len(lines)]


def judge(mistake, answer):
    """The outcome in a word, and the sentence."""
    code, rule, sentence, places = answer
    if rule in ("broke", "hangs"):
        return rule, sentence
    if code == 0 or rule in ("clean", "incomplete"):
        return "MISSED", f"the verdict is {rule}"
    named = all(name in sentence for name in mistake.names)
    placed = not mistake.lines or any(part in line for part in mistake.lines for line in places)
    if rule in mistake.rules and named and placed:
        return "caught", f"{rule}: {sentence}"
    lacks = "the rule" if rule not in mistake.rules else "a name" if not named else "the line"
    return "misleading", f"{lacks} is not what it should be: {rule}: {sentence}"


def answers(tool, kernels, wrong):
    def ask(kernel, text):
        begin = time.monotonic()
        return *first_line(tool, kernel, text), time.monotonic() - begin

    calls = {name: lambda name=name: ask(name, CORRECT[name]) for name in kernels}
    calls.update({m.id: lambda m=m: ask(m.kernel, changed(m)) for m in wrong})
    return in_parallel(calls)


def main():
    tool = tool_of(sys.argv)
    every = "--all" in sys.argv or "--record" in sys.argv
    kernels = sorted(CORRECT)
    legal = mistakes.LEGAL
    wrong = mistakes.MISTAKES
    if not every:
        kernels, legal = kernels[::2], []
        wrong = [m for m in wrong if m.id in SAMPLE]
        assert len(wrong) == len(SAMPLE), SAMPLE - {m.id for m in wrong}
    heard = answers(tool, kernels, legal + wrong)
    failed = []
    for name in kernels + [m.id for m in legal]:
        *answer, seconds = heard[name]
        outcome = answer[1] if answer[0] == 0 else f"FALSE ALARM\n    {answer[1]}: {answer[2]}"
        if answer[0] != 0:
            failed.append(f"{name}: {outcome}")
        if "--record" in sys.argv:
            print(f"{name:30} {outcome:12} {seconds:.1f} s")
    for mistake in wrong:
        *answer, seconds = heard[mistake.id]
        outcome, sentence = judge(mistake, answer)
        if outcome != "caught":
            failed.append(f"{mistake.id}: {outcome}: {sentence}")
        if "--record" in sys.argv:
            print(f"{mistake.id:30} {outcome:12} {seconds:.1f} s\n    {sentence}")
    print("\n".join(failed) or f"{len(kernels) + len(legal)} correct kernels are clean, {len(wrong)} mistakes are named")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
