# -DCAPSTAN_SANITIZE=address,undefined or thread: used by the asan and tsan presets.
set(CAPSTAN_SANITIZE "" CACHE STRING "Sanitizers to compile with")
if(CAPSTAN_SANITIZE)
  add_compile_options(-fsanitize=${CAPSTAN_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${CAPSTAN_SANITIZE})
endif()
