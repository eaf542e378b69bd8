// SPDX-License-Identifier: Apache-2.0
// The dependency table, read from where it stands: the tandem_layer() call of each room.
#include <algorithm>
#include <functional>

#include "tests/tidy/tidy.hpp"

namespace tandem::tidy {
namespace {

// The words of a CMake text without comments; parentheses are words of their own.
std::vector<std::string> cmake_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool comment = false;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (const char c : text) {
    if (c == '#') comment = true;
    if (c == '\n') comment = false;
    if (comment || c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      finish();
    } else if (c == '(' || c == ')') {
      finish();
      words.emplace_back(1, c);
    } else {
      word += c;
    }
  }
  finish();
  return words;
}

// The arguments of the first call of `command`; empty when there is none.
std::vector<std::string> call_arguments(const std::vector<std::string>& words, const std::string& command) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != command || words[i + 1] != "(") continue;
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(i) + 2;
    return {first, std::find(first, words.end(), ")")};
  }
  return {};
}

Room parse_room(const std::vector<std::string>& arguments) {
  Room room;
  room.name = arguments[0];
  std::string section;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "DEPENDS" || word == "LINKS" || word == "TEST_DEPENDS" || word == "TEST_LINKS" ||
        word == "UNITY") {
      section = word;
    } else if (section == "DEPENDS") {
      room.depends.push_back(word);
    } else if (section == "TEST_DEPENDS") {
      room.test_depends.push_back(word);
    }
  }
  return room;
}

std::string cmake_path(const std::string& room) { return "tandem/" + room + "/CMakeLists.txt"; }

// The order in which the top CMakeLists.txt adds the rooms: foreach(room base tensor ...).
std::vector<std::string> room_order(const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    if (file.path != "CMakeLists.txt") continue;
    std::vector<std::string> words = call_arguments(cmake_words(file.text), "foreach");
    if (!words.empty() && words[0] == "room") return {words.begin() + 1, words.end()};
  }
  return {};
}

// Depth-first; a room that is met again while it is open closes a cycle.
std::vector<Finding> find_cycles(const std::map<std::string, Room>& rooms) {
  std::vector<Finding> findings;
  std::set<std::string> done;
  std::vector<std::string> open;
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    const auto again = std::find(open.begin(), open.end(), name);
    if (again != open.end()) {
      std::string way;
      for (auto it = again; it != open.end(); ++it) way += *it + " -> ";
      findings.push_back({cmake_path(name), 0, "cycle", "rooms depend on each other: " + way + name});
      return;
    }
    const auto room = rooms.find(name);
    if (room == rooms.end() || done.count(name) > 0) return;
    open.push_back(name);
    for (const std::string& dependency : room->second.depends) visit(dependency);
    open.pop_back();
    done.insert(name);
  };
  for (const auto& entry : rooms) visit(entry.first);
  return findings;
}

}  // namespace

std::map<std::string, Room> read_rooms(const std::vector<SourceFile>& files, std::vector<Finding>& findings) {
  std::map<std::string, Room> rooms;
  for (const SourceFile& file : files) {
    const std::string folder = room_of(file.path);
    if (folder.empty() || file.path != cmake_path(folder)) continue;
    const std::vector<std::string> arguments = call_arguments(cmake_words(file.text), "tandem_layer");
    if (arguments.empty()) {
      findings.push_back({file.path, 0, "room", "a room is made by tandem_layer(name DEPENDS ...)"});
      continue;
    }
    Room room = parse_room(arguments);
    if (room.name != folder) {
      findings.push_back(
          {file.path, 0, "room", fmt::format("room '{}' lies in folder '{}'", room.name, folder)});
    }
    rooms[folder] = std::move(room);
  }
  return rooms;
}

std::vector<Finding> check_rooms(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  const std::map<std::string, Room> rooms = read_rooms(files, findings);
  const std::vector<std::string> order = room_order(files);
  const auto place = [&order](const std::string& name) {
    return std::find(order.begin(), order.end(), name);
  };
  for (const auto& entry : rooms) {
    const Room& room = entry.second;
    const std::string path = cmake_path(entry.first);
    if (place(room.name) == order.end()) {
      findings.push_back(
          {path, 0, "room", fmt::format("the top CMakeLists.txt does not list room '{}'", room.name)});
      continue;
    }
    // A room that is planned (listed at the top) but not there yet may be named already.
    for (const std::string& dependency : room.depends) {
      if (place(dependency) == order.end()) {
        findings.push_back({path, 0, "room", fmt::format("depends on '{}', which is no room", dependency)});
      } else if (place(dependency) >= place(room.name)) {
        findings.push_back(
            {path, 0, "room",
             fmt::format("depends on '{}', which the top CMakeLists.txt adds later", dependency)});
      }
    }
    for (const std::string& dependency : room.test_depends) {
      if (place(dependency) == order.end()) {
        findings.push_back(
            {path, 0, "room", fmt::format("tests depend on '{}', which is no room", dependency)});
      }
    }
  }
  for (Finding& cycle : find_cycles(rooms)) findings.push_back(std::move(cycle));
  return findings;
}

}  // namespace tandem::tidy
