/// The completion scripts, made from the tables of commands and options.
///
/// The scripts are static: the shell starts no program to complete a word.
enum Completion {
  /// Returns the script for a shell.
  static func script(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  /// The methods that are offered in addition to the commands.
  private static var methods: [String] { Arguments.methods }
  private static var commands: [CommandName] { CommandName.allCases.filter { $0 != .request } }
  private static var valued: [OptionEntry] { OptionEntry.all.filter(\.takesValue) }

  /// A text in single quotes for a POSIX shell.
  private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: #"'\''"#))'" }

  // MARK: bash

  private static var bash: String {
    let options = CommandName.allCases.map { name in
      "    \(name.rawValue)) options=\(quoted(name.options.flatMap(\.spellings).joined(separator: " "))) ;;"
    }
    let words = CommandName.allCases.filter { !$0.entry.words.isEmpty }.map { name in
      "    \(name.rawValue)) words=\(quoted(name.entry.words.joined(separator: " "))) ;;"
    }
    let values = valued.compactMap { option -> String? in
      let pattern = option.spellings.joined(separator: "|")
      switch option.value {
      case .choice(_, let choices):
        return "    \(pattern)) COMPREPLY=($(compgen -W \(quoted(choices.joined(separator: " "))) -- \"$current\")) ;;"
      case .file: return "    \(pattern)) _martlet_files \"$current\" ;;"
      case .folder: return "    \(pattern)) COMPREPLY=($(compgen -d -- \"$current\")) ;;"
      case .text: return "    \(pattern)) ;;"
      case .none: return nil
      }
    }
    return #"""
      # Completion of martlet for bash, printed by 'martlet completion bash'.
      _martlet_files() {
        local file start=
        if [[ $1 == @* ]]; then
          # bash would quote the '@' of a file name.
          start=@
          compopt -o nospace 2>/dev/null
        else
          compopt -o filenames 2>/dev/null
        fi
        while IFS= read -r file; do
          [[ -n $start && -d $file ]] && file+=/
          COMPREPLY+=("$start$file")
        done < <(compgen -f -- "${1#@}")
      }

      # Completes the value of the option $1, if it takes one.
      _martlet_value() {
        local current=$2
        case $1 in
      \#(values.joined(separator: "\n"))
          *) return 1 ;;
        esac
      }

      _martlet() {
        local current=${COMP_WORDS[COMP_CWORD]} command=request options= words= index word
        COMPREPLY=()
        # bash splits words at '=', '@' and ':'.
        local place=$((COMP_CWORD - 1)) position=0
        [[ $current == = ]] && current=
        [[ ${COMP_WORDS[place]} == *@ ]] && current=@$current
        [[ ${COMP_WORDS[place]} == @ ]] && ((place--))
        [[ ${COMP_WORDS[place]} == =* ]] && ((place--))
        [[ ${COMP_WORDS[place]} == -* ]] && _martlet_value "${COMP_WORDS[place]}" "$current" && return
        for ((index = 1; index < COMP_CWORD; index++)); do
          word=${COMP_WORDS[index]}
          case $word in
            \#(valued.flatMap(\.spellings).joined(separator: "|")))
              ((index++))
              [[ ${COMP_WORDS[index]} == =* ]] && ((index++))
              [[ ${COMP_WORDS[index]} == @ ]] && ((index++))
              ;;
            [=:@]*) ((index++)) ;;
            -*) ;;
            *)
              ((position++))
              case $word in
                \#(CommandName.allCases.map(\.rawValue).joined(separator: "|"))) ((position == 1)) && command=$word ;;
              esac
              ;;
          esac
        done
        case $command in
      \#(options.joined(separator: "\n"))
        esac
        if [[ $current == -* ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$current"))
        elif ((position == 0)); then
          COMPREPLY=($(compgen -W \#(quoted((commands.map(\.rawValue) + methods).joined(separator: " "))) -- "$current"))
        else
          case $command in
      \#(words.joined(separator: "\n"))
          esac
          if [[ -n $words ]] && ((position == 1)); then
            COMPREPLY=($(compgen -W "$words" -- "$current"))
          else
            _martlet_files "$current"
          fi
        fi
      }
      complete -F _martlet martlet

      """#
  }

  // MARK: zsh

  private static var zsh: String {
    let cases = CommandName.allCases.map { name in
      let specs = name.options.flatMap(zshSpecs).map { "      \($0)" }.joined(separator: " \\\n")
      let words = name.entry.words
      let arguments =
        words.isEmpty
        ? "      '*:word:_files'" : "      '1:word:(\(words.joined(separator: " ")))' \\\n      '*:file:_files'"
      return "    \(name.rawValue))\n    _arguments -s -S \\\n\(specs) \\\n\(arguments)\n    ;;"
    }
    let names = commands.map { "    \(quoted("\($0.rawValue):\($0.entry.summary)"))" }
    let valued = valued.flatMap(\.spellings).joined(separator: "|")
    return #"""
      #compdef martlet
      # Completion of martlet for zsh, printed by 'martlet completion zsh'.
      _martlet() {
        local command=request index word
        local -a commands methods
        commands=(
      \#(names.joined(separator: "\n"))
        )
        methods=(\#(methods.joined(separator: " ")))
        for ((index = 2; index < CURRENT; index++)); do
          word=${words[index]}
          case $word in
            (\#(valued)) ((index++)) ;;
            (-*) ;;
            (*) break ;;
          esac
        done
        if ((index >= CURRENT)) && [[ ${words[CURRENT]} != -* && ${words[CURRENT - 1]} != (\#(valued)) ]]; then
          _describe -t commands command commands
          compadd -a methods
          return
        fi
        if ((index < CURRENT)) && [[ ${words[index]} == (\#(CommandName.allCases.map(\.rawValue).joined(separator: "|"))) ]]
        then
          command=${words[index]}
          words[index]=()
          ((CURRENT--))
        fi
        case $command in
      \#(cases.joined(separator: "\n"))
        esac
      }
      if [[ ${funcstack[1]} == _martlet ]]; then
        _martlet "$@"
      else
        compdef _martlet martlet
      fi

      """#
  }

  /// The specifications for `_arguments`, one for each name of an option.
  private static func zshSpecs(_ option: OptionEntry) -> [String] {
    let help = option.help.replacing("[", with: "\\[").replacing("]", with: "\\]").replacing(":", with: "\\:")
    let action: String? =
      switch option.value {
      case .none: nil
      case .choice(_, let choices): "(\(choices.joined(separator: " ")))"
      case .file: "_files"
      case .folder: "_files -/"
      case .text: " "
      }
    let placeholder = (option.value.placeholder ?? "").lowercased().prefix { $0.isLetter }
    return option.spellings.map { name in
      let value = action.map { "\(name.hasPrefix("--") ? "=" : "+")[\(help)]:\(placeholder):\($0)" } ?? "[\(help)]"
      return quoted("*\(name)\(value)")
    }
  }

  // MARK: fish

  private static var fish: String {
    var lines = ["# Completion of martlet for fish, printed by 'martlet completion fish'."]
    lines.append(
      """
      # Prints the command of the line; 'request' without one, and nothing before the first word.
      function __martlet_command
          set -l skips 0
          for word in (commandline -opc)[2..-1]
              if test $skips = 1
                  set skips 0
                  continue
              end
              switch $word
                  case \(valued.flatMap(\.spellings).joined(separator: " "))
                      set skips 1
                  case '-*'
                  case \(CommandName.allCases.map(\.rawValue).joined(separator: " "))
                      echo $word
                      return 0
                  case '*'
                      echo request
                      return 0
              end
          end
          return 1
      end
      # Succeeds if the line's command is one of the arguments; a line without a command is a request.
      function __martlet_is
          set -l command (__martlet_command)
          or set command request
          contains -- $command $argv
      end
      """)
    lines.append("complete -c martlet -n 'not __martlet_command' -f")
    for name in commands {
      lines.append(
        "complete -c martlet -n 'not __martlet_command' -a \(name.rawValue) -d \(fishQuoted(name.entry.summary))")
    }
    lines.append("complete -c martlet -n 'not __martlet_command' -a '\(methods.joined(separator: " "))' -d method")
    for name in CommandName.allCases where !name.entry.words.isEmpty {
      let words = name.entry.words.joined(separator: " ")
      let files = name.entry.takesFiles ? "" : "-f "
      lines.append("complete -c martlet -n '__martlet_is \(name.rawValue)' \(files)-a '\(words)'")
    }
    for option in OptionEntry.all { lines.append(fishLine(option)) }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fishLine(_ option: OptionEntry) -> String {
    let owners = CommandName.allCases.filter { option.commands.contains($0) }.map(\.rawValue).joined(separator: " ")
    let names = option.letters.map { "-s \(fishQuoted(String($0)))" } + option.longNames.map { "-l \($0.dropFirst(2))" }
    let value =
      switch option.value {
      case .none: ""
      case .choice(_, let choices): " -x -a '\(choices.joined(separator: " "))'"
      case .file: " -r -F"
      case .folder: " -x -a '(__fish_complete_directories)'"
      case .text: " -x"
      }
    return "complete -c martlet -n '__martlet_is \(owners)' \(names.joined(separator: " "))\(value)"
      + " -d \(fishQuoted(option.help))"
  }

  private static func fishQuoted(_ text: String) -> String {
    "'\(text.replacing("\\", with: #"\\"#).replacing("'", with: #"\'"#))'"
  }
}
