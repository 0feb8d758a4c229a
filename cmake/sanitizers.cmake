# -DCAPSTAN_SANITIZE=address,undefined or thread: used by the asan and tsan presets.
set(CAPSTAN_SANITIZE "" CACHE STRING "Sanitizers to compile with")
if(CAPSTAN_SANITIZE)
  # Undefined behaviour ends the program, so that a test fails on it instead of printing a line.
  add_compile_options(-fsanitize=${CAPSTAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # With the sanitizers' own code inside, g++ 12 suspects <regex>, std::string and Eigen without a reason.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # The thread sanitizer does not see fences; those of Boost.Asio stand beside atomics that it does see.
  if(CAPSTAN_SANITIZE MATCHES "thread")
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
  add_link_options(-fsanitize=${CAPSTAN_SANITIZE})
endif()
