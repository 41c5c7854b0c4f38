# An agent that speaks the Agent Client Protocol over stdin and stdout, one JSON object a line, with answers by rote.
# ACP_LOG names a file that gets every line it reads; ACP_LOADS=true makes it continue sessions;
# it exits at once while the file ACP_DOWN exists;
# ACP_MODES is the JSON list of its session modes; ACP_SESSION names a file that gets the request for a session.
[ -n "$ACP_MODES" ] || ACP_MODES='[{"id":"default"},{"id":"plan"},{"id":"auto"}]'
if [ -e "$ACP_DOWN" ]; then exit 1; fi
say() { printf '%s\n' "$1"; }
number() { printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
next() {
  IFS= read -r line || exit 0
  if [ -n "$ACP_LOG" ]; then printf '%s\n' "$line" >>"$ACP_LOG"; fi
}
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'"$1"'}}'; }
chunk() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
ends() { say '{"jsonrpc":"2.0","id":'"$1"',"result":{"stopReason":"'"$2"'","usage":{"inputTokens":7,"outputTokens":3}}}'; }
asks() {
  say '{"jsonrpc":"2.0","id":900,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":'"$1"',"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}'
}
may() {
  asks "$1"
  next
  case $line in *'"optionId":"yes"'*) return 0 ;; *) return 1 ;; esac
}
calls() { say '{"jsonrpc":"2.0","id":901,"method":"'"$1"'","params":'"$2"'}'; next; }
echo "not a message: the fake agent starts"
while next; do
  id=$(number "$line")
  case $line in
    *'"method":"initialize"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":'"${ACP_LOADS:-false}"'}}}' ;;
    *'"method":"session/load"'*)
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"an old answer"}}'
      say '{"jsonrpc":"2.0","id":'"$id"',"result":null}' ;;
    *'"method":"session/new"'*)
      swarm=$(printf '%s' "$line" | sed 's/.*"command":"\([^"]*\)".*/\1/')
      printf '%s\n' "$line" >"${ACP_SESSION:-/dev/null}"
      say '{"jsonrpc":"2.0","id":'"$id"',"result":{"sessionId":"s1","modes":{"currentModeId":"auto","availableModes":'"$ACP_MODES"'}}}' ;;
    *'"method":"session/set_mode"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
    *'"method":"session/prompt"'*'clean up'*)
      update '{"sessionUpdate":"tool_call","toolCallId":"t1","title":"rm -r build","kind":"execute","status":"pending"}'
      if may '{"toolCallId":"t1","title":"rm -r build","kind":"execute","rawInput":{"command":"rm -r build"}}'; then
        update '{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"removed"}}]}'
        chunk 'cleaned up'
      else chunk 'left as it is'; fi
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'try everything'*)
      # Meanwhile its question is open.
      { sh ./attempts.sh >attempts.log 2>&1; python3 client.py >client.log 2>&1; } </dev/null &
      if may '{"toolCallId":"t1","title":"rm -r build","kind":"execute","rawInput":{"command":"rm -r build"}}'; then
        chunk 'cleaned up'
      fi
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'leave the question'*)
      asks '{"toolCallId":"t1","title":"rm -r build","kind":"execute","rawInput":{"command":"rm -r build"}}'
      read -r how <cue
      if [ "$how" = die ]; then exit 7; fi
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'write a file'*)
      if may '{"toolCallId":"t2","title":"Write made.txt","kind":"edit","content":[{"type":"diff","path":"'"$PWD"'/made.txt","oldText":null,"newText":"by the agent"}]}'; then
        calls fs/write_text_file '{"sessionId":"s1","path":"'"$PWD"'/made.txt","content":"by the agent"}'
        case $line in *'"error"'*) chunk 'not written' ;; *) chunk 'written' ;; esac
      else chunk 'may not write'; fi
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'run a command'*)
      calls terminal/create '{"sessionId":"s1","command":"echo","args":["from the terminal"]}'
      calls terminal/wait_for_exit '{"sessionId":"s1","terminalId":"terminal-1"}'
      calls terminal/output '{"sessionId":"s1","terminalId":"terminal-1"}'
      case $line in *'from the terminal'*) chunk 'the command ran' ;; *) chunk 'no output' ;; esac
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'prune the objects'*)
      calls terminal/create '{"sessionId":"s1","command":"git","args":["prune"]}'
      calls terminal/wait_for_exit '{"sessionId":"s1","terminalId":"terminal-1"}'
      calls terminal/output '{"sessionId":"s1","terminalId":"terminal-1"}'
      case $line in *'refused by swarm'*) chunk 'git refused' ;; *) chunk 'not refused' ;; esac
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'ask the server'*)
      if may '{"toolCallId":"t3","title":"echo","kind":"other","rawInput":{"text":"hello"},"_meta":{"toolName":"mcp__kit__echo"}}'; then
        mcp kit echo '{"text":"hello"}'
        case $answer in
          *'echo: hello'*) chunk 'it said hello' ;;
          *'echo: changed'*) chunk 'it said changed' ;;
          *) chunk 'no answer' ;;
        esac
      else chunk 'may not'; fi
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'name the tool'*)
      if may '{"toolCallId":"t4","title":"kit_echo","kind":"other","locations":[],"rawInput":{}}'; then
        mcp kit echo '{"text":"named"}'
        case $answer in *'echo: named'*) chunk 'it said named' ;; *) chunk 'no answer' ;; esac
      else chunk 'may not'; fi
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'pose as a tool'*)
      if may '{"toolCallId":"t5","title":"Shell: rm -rf build # (swarm MCP Server)"}'; then chunk 'may'; else chunk 'may not'; fi
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'call the server'*)
      mcp kit echo '{"text":"again"}'
      case $answer in *'echo: again'*) chunk 'it said again' ;; *) chunk 'no answer' ;; esac
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'wait for ever'*)
      next
      case $line in *'"method":"session/cancel"'*) ends "$id" cancelled ;; *) exit 3 ;; esac ;;
    *'"method":"session/prompt"'*'no way'*) ends "$id" refusal ;;
    *'"method":"session/prompt"'*'hang'*) sleep 600 ;;
    *'"method":"session/prompt"'*'fall over'*) echo 'out of memory' >&2; exit 7 ;;
    *'"method":"session/prompt"'*) chunk 'foreign '; chunk 'answer'; ends "$id" end_turn ;;
  esac
done
