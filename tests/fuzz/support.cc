#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace capstan::fuzz {
namespace {

// Removed at the end of the process.
struct Folder {
  Folder() {
    // In memory where that can be had: a disk takes a millisecond for each file.
    path = std::filesystem::is_directory("/dev/shm") ? "/dev/shm/capstan_fuzz_XXXXXX"
                                                     : "/tmp/capstan_fuzz_XXXXXX";
    if (mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

void write(const std::string& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
}

constexpr const char* kTetrahedron =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

constexpr std::array kNumbers = {"0",
                                 "-0.0",
                                 "1",
                                 "-1",
                                 "2",
                                 "3",
                                 "0.5",
                                 "-2.5",
                                 "1e-3",
                                 "1e-9",
                                 "1e-12",
                                 "1e-16",
                                 "1e-154",
                                 "1e-300",
                                 "5e-324",
                                 "1e3",
                                 "1e6",
                                 "1e9",
                                 "1e12",
                                 "1e18",
                                 "9e18",
                                 "1e154",
                                 "1e300",
                                 "1e308",
                                 "-1e18",
                                 "1e400",
                                 "nan",
                                 ".nan",
                                 ".inf",
                                 "-.inf",
                                 "inf",
                                 "255",
                                 "65536",
                                 "100000",
                                 "2147483647",
                                 "-2147483648",
                                 "4294967296",
                                 "9223372036854775807",
                                 "18446744073709551616",
                                 "''",
                                 "x"};

bool is_number_part(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '+';
}
bool is_word_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

struct Span {
  std::size_t begin, size;
};

// Maximal runs that begin with one of `first` and go on with `is_part`.
template <class First, class Part>
std::vector<Span> find_runs(const std::string& text, First is_first, Part is_part) {
  std::vector<Span> runs;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_first(text[i])) {
      // The rest of a word that does not begin a run is no run either.
      do ++i;
      while (i < text.size() && is_word_part(text[i - 1]) && is_word_part(text[i]));
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && is_part(text[end])) ++end;
    runs.push_back({i, end - i});
    i = end;
  }
  return runs;
}
std::vector<Span> numbers_of(const std::string& text) {
  return find_runs(text, is_number_part, [](char c) { return is_number_part(c) || c == 'e' || c == 'E'; });
}
std::vector<Span> words_of(const std::string& text) {
  return find_runs(
      text, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }, is_word_part);
}

void change_number(std::string* text, Random* random) {
  const std::vector<Span> runs = numbers_of(*text);
  if (runs.empty()) return;
  const Span run = runs[random->below(runs.size())];
  std::string other = kNumbers[random->below(kNumbers.size())];
  const double value = std::strtod(text->substr(run.begin, run.size).c_str(), nullptr);
  constexpr std::array kFactors = {-1.0, 0.1, 10.0, 1e-3, 1e3, 1e-6, 1e6, 0.99, 1.01};
  if (random->below(3) != 0) other = std::to_string(value * kFactors[random->below(kFactors.size())]);
  if (random->below(8) == 0) {
    const Span from = runs[random->below(runs.size())];
    other = text->substr(from.begin, from.size);
  }
  text->replace(run.begin, run.size, other);
}

void change_word(std::string* text, Random* random) {
  const std::vector<Span> runs = words_of(*text);
  if (runs.empty()) return;
  const Span to = runs[random->below(runs.size())], from = runs[random->below(runs.size())];
  const std::string word = text->substr(from.begin, from.size);
  text->replace(to.begin, to.size, word);
}

void change_lines(std::string* text, Random* random) {
  std::vector<std::string> lines(1);
  for (const char c : *text) {
    lines.back() += c;
    if (c == '\n') lines.emplace_back();
  }
  const std::size_t i = random->below(lines.size()), j = random->below(lines.size());
  const auto at = [&](std::size_t k) { return lines.begin() + static_cast<std::ptrdiff_t>(k); };
  switch (random->below(4)) {
    case 0:
      lines.erase(at(i));
      break;
    case 1:
      lines.insert(at(i), std::string(lines[j]));
      break;
    case 2:
      std::swap(lines[i], lines[j]);
      break;
    default: {  // a block, with the lines that are indented deeper
      const std::size_t depth = lines[i].find_first_not_of(" -");
      std::size_t end = i + 1;
      while (end < lines.size() && lines[end].find_first_not_of(' ') > depth) ++end;
      const std::vector<std::string> block(at(i), at(end));
      if (random->below(2) == 0) {
        lines.erase(at(i), at(end));
      } else {
        lines.insert(at(j), block.begin(), block.end());
      }
    }
  }
  text->clear();
  for (const std::string& line : lines) *text += line;
}

}  // namespace

std::string file_of(const std::string& name, std::string_view bytes) {
  static const Folder folder;
  static const bool written = (write(folder.path + "/tetrahedron.obj", kTetrahedron), true);
  static_cast<void>(written);
  const std::string path = folder.path + "/" + name;
  write(path, bytes);
  return path;
}

std::string mutate_bytes(std::string text, Random* random) {
  for (std::size_t n = 1 + random->below(4); n > 0; --n) {
    const std::size_t at = random->below(text.size() + 1);
    const std::size_t size = std::min(text.size() - at, 1 + random->below(16));
    switch (random->below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random->below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(random->next());
        break;
      case 2:
        text.insert(at, 1 + random->below(8), static_cast<char>(random->next()));
        break;
      case 3:
        text.erase(at, size);
        break;
      case 4:
        text.insert(random->below(text.size() + 1), text.substr(at, size));
        break;
      default: {  // a whole word, as sizes and indices are
        constexpr std::array<std::uint64_t, 8> kWords = {
            0, 1, ~0ull, 0x7fffffff, 0x80000000, 0x7fffffffffffffff, 0x7ff8000000000000, 0x4000000000};
        const std::uint64_t word = kWords[random->below(kWords.size())];
        const std::size_t bytes = std::size_t{1} << random->below(4);
        for (std::size_t k = 0; k < bytes && at + k < text.size(); ++k) {
          text[at + k] = static_cast<char>(word >> (8 * k));
        }
      }
    }
  }
  return text;
}

std::string mutate_text(std::string text, Random* random) {
  for (std::size_t n = 1 + random->below(3); n > 0; --n) {
    switch (random->below(12)) {
      case 0:
        change_word(&text, random);
        break;
      case 1:
        change_lines(&text, random);
        break;
      case 2:
        if (random->below(4) == 0) text = mutate_bytes(text, random);
        break;
      default:
        change_number(&text, random);
    }
  }
  return text;
}

std::size_t mutate_text_in_place(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                 unsigned int seed) {
  Random random(seed);
  if (random.below(16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text = mutate_text({reinterpret_cast<const char*>(data), size}, &random);
  const std::size_t n = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), n);
  return n;
}

}  // namespace capstan::fuzz
