# cmake -DOUTPUT=file.cpp -DFUNCTION=name -DROOT=folder -DPATTERN=*.h -P embed.cmake: the text files below ROOT as
# string literals, with a function of system/embedded.h that returns them.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE names RELATIVE "${ROOT}" "${ROOT}/${PATTERN}")
list(SORT names)
string(CONCAT content "#include \"system/embedded.h\"\n\nnamespace warpwright::system {\nnamespace {\n"
  "constexpr EmbeddedFile kFiles[] = {\n")
foreach(name IN LISTS names)
  # No device code includes the simulator.
  if(name MATCHES "(^|/)sim/")
    continue()
  endif()
  file(READ "${ROOT}/${name}" text)
  string(APPEND content "{\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(APPEND content "{nullptr, nullptr},\n};\n}  // namespace\n"
  "std::span<const EmbeddedFile> ${FUNCTION}() { return std::span(kFiles).first(std::size(kFiles) - 1); }\n"
  "}  // namespace warpwright::system\n")
file(WRITE "${OUTPUT}" "${content}")
