// SPDX-License-Identifier: Apache-2.0
// Completion scripts for three shells, from the table of verbs.
#include "apps/cli/verb.hpp"
#include "tandem/base/text.hpp"

namespace tandem::cli {
namespace {

std::vector<Flag> flags_of(const Verb& verb, Session& session) {
  std::vector<Flag> flags = verb.flags;
  for (Flag& flag : common_flags(session)) flags.push_back(std::move(flag));
  return flags;
}

// "--output", "-o"; a pair gives both.
std::vector<std::string> spellings(const Flag& flag) {
  std::vector<std::string> names;
  if (flag.positional()) return names;
  for (std::string_view name : split(flag.names, ',')) {
    if (name.front() == '!') name.remove_prefix(1);
    names.emplace_back(name);
  }
  return names;
}

// In single quotes a shell leaves everything alone but the quote itself.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string verb_names(const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) names.push_back(verb.name);
  return join(names, " ");
}

std::string bash_script(const std::vector<Verb>& verbs) {
  std::string script =
      "# bash completion of tandem: source it, or put it into /etc/bash_completion.d\n"
      "_tandem() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W " +
      quoted(verb_names(verbs) + " --help --version") +
      " -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${COMP_WORDS[1]} $before\" in\n";
  Session session;
  for (const Verb& verb : verbs) {
    for (const Flag& flag : flags_of(verb, session)) {
      if (flag.is_switch()) continue;
      std::string patterns;
      for (const std::string& name : spellings(flag)) {
        patterns += (patterns.empty() ? "" : "|") + quoted(verb.name + " " + name);
      }
      if (patterns.empty()) continue;
      std::string reply = "return";
      if (!flag.choices.empty()) {
        reply = "COMPREPLY=($(compgen -W " + quoted(join(flag.choices, " ")) + " -- \"$word\")); return";
      } else if (flag.takes == Takes::kFolder) {
        reply = "COMPREPLY=($(compgen -d -- \"$word\")); return";
      } else if (flag.takes != Takes::kText) {
        reply = "COMPREPLY=($(compgen -f -- \"$word\")); return";
      }
      script += "    " + patterns + ") " + reply + " ;;\n";
    }
  }
  script += "  esac\n  local flags=''\n  case \"${COMP_WORDS[1]}\" in\n";
  for (const Verb& verb : verbs) {
    std::vector<std::string> names;
    std::vector<std::string> choices;
    for (const Flag& flag : flags_of(verb, session)) {
      for (std::string& name : spellings(flag)) names.push_back(std::move(name));
      if (flag.positional()) choices = flag.choices;
    }
    names.emplace_back("--help");
    script += "    " + quoted(verb.name) + ") flags=" + quoted(join(names, " ")) + "\n";
    if (!choices.empty()) {
      script += "      case \"$word\" in -*) ;; *) COMPREPLY=($(compgen -W " + quoted(join(choices, " ")) +
                " -- \"$word\")); return ;; esac\n";
    }
    script += "      ;;\n";
  }
  return script +
         "  esac\n"
         "  case \"$word\" in\n"
         "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _tandem tandem\n";
}

// Text inside [..] and after ':' of a zsh specification.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Flag& flag) {
  if (!flag.choices.empty()) return "(" + join(flag.choices, " ") + ")";
  if (flag.takes == Takes::kFolder) return "_files -/";
  return flag.takes == Takes::kText ? " " : "_files";
}

std::string zsh_script(const std::vector<Verb>& verbs) {
  std::string script =
      "#compdef tandem\n"
      "# zsh completion of tandem: put it as _tandem into a folder of $fpath\n"
      "_tandem() {\n"
      "  local -a verbs=(\n";
  for (const Verb& verb : verbs) script += "    " + quoted(verb.name + ":" + zsh_text(verb.summary)) + "\n";
  script +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n";
  Session session;
  for (const Verb& verb : verbs) {
    script += "    " + verb.name + ") _arguments \\\n";
    for (const Flag& flag : flags_of(verb, session)) {
      const bool many = std::holds_alternative<std::vector<std::string>*>(flag.target);
      if (flag.positional()) {
        script += "      " +
                  quoted((many ? "*:" : ":") + flag.names + ":" +
                         (flag.choices.empty() ? "_files" : zsh_action(flag))) +
                  " \\\n";
      }
      for (const std::string& name : spellings(flag)) {
        std::string line = (many ? "*" : "") + name + "[" + zsh_text(flag.help) + "]";
        if (!flag.is_switch()) line += ":" + flag.placeholder + ":" + zsh_action(flag);
        script += "      " + quoted(line) + " \\\n";
      }
    }
    script += "      '--help[This text]' ;;\n";
  }
  return script + "  esac\n}\n_tandem \"$@\"\n";
}

std::string fish_script(const std::vector<Verb>& verbs) {
  std::string script = "# fish completion of tandem: put it into ~/.config/fish/completions/tandem.fish\n";
  Session session;
  for (const Verb& verb : verbs) {
    script += fmt::format("complete -c tandem -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                          quoted(verb.summary));
  }
  for (const Verb& verb : verbs) {
    const std::string condition = quoted("__fish_seen_subcommand_from " + verb.name);
    for (const Flag& flag : flags_of(verb, session)) {
      if (flag.positional() && !flag.choices.empty()) {
        script +=
            fmt::format("complete -c tandem -n {} -f -a {}\n", condition, quoted(join(flag.choices, " ")));
      }
      const std::vector<std::string> names = spellings(flag);
      if (names.empty()) continue;
      script += "complete -c tandem -n " + condition;
      for (const std::string& name : names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!flag.choices.empty())
        script += " -x -a " + quoted(join(flag.choices, " "));
      else if (!flag.is_switch())
        script += flag.takes == Takes::kText ? " -x" : " -r -F";
      script += " -d " + quoted(flag.help) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const std::vector<Verb>& verbs, std::string_view shell) {
  if (shell == "zsh") return zsh_script(verbs);
  return shell == "fish" ? fish_script(verbs) : bash_script(verbs);
}

}  // namespace tandem::cli
