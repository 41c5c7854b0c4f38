# Claude Code with `stream-json` in both directions, with answers by rote. CLAUDE_LOG names a file that gets its arguments
# and every line that it reads; CLAUDE_FAKE_VERSION is its version,
# CLAUDE_PROBE a shell command whose output is noted.
if [ "$1" = --version ]; then echo "${CLAUDE_FAKE_VERSION:-2.1.330} (Claude Code)"; exit; fi
note() { if [ -n "$CLAUDE_LOG" ]; then printf '%s\n' "$1" >>"$CLAUDE_LOG"; fi; }
say() { printf '%s\n' "$1"; }
says() { say '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"'"$1"'"}]},"parent_tool_use_id":null,"session_id":"'"$session"'"}'; }
ends() { say '{"type":"result","subtype":"'"$1"'","is_error":'"$2"',"result":"'"$3"'","usage":{"input_tokens":5,"output_tokens":2},"session_id":"'"$session"'"}'; }
note "arguments: $*"
while [ $# -gt 0 ]; do
  case $1 in
    --session-id | --resume) session=$2 ;;
    --mcp-config) swarm=${2#*\"command\":\"} swarm=${swarm%%\"*} ;;
    --settings) helper=${2#*\"apiKeyHelper\":\"} helper=${helper%%\"*} ;;
  esac
  shift
done
note "key: $(sh -c "${helper:-:}") in the environment: $ANTHROPIC_API_KEY$ANTHROPIC_AUTH_TOKEN"
if [ -n "$CLAUDE_PROBE" ]; then note "probe: $(sh -c "$CLAUDE_PROBE" 2>/dev/null)"; fi
while IFS= read -r line; do
  note "$line"
  case $line in
    *'"type":"user"'*) say '{"type":"system","subtype":"init","session_id":"'"$session"'","model":"claude-opus-4-6"}' ;;
  esac
  case $line in
    *'"type":"user"'*'clean up'*)
      say '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"rm -r build"}}]},"parent_tool_use_id":null}'
      say '{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"rm -r build"}}}'
      IFS= read -r line; note "$line"
      case $line in
        *'"behavior":"allow"'*)
          say '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"removed"}]},"parent_tool_use_id":null}'
          says 'cleaned up' ;;
        *) says 'left as it is' ;;
      esac
      ends success false done ;;
    *'"type":"user"'*'ask the server'*)
      say '{"type":"control_request","request_id":"q2","request":{"subtype":"can_use_tool","tool_name":"mcp__kit__echo","tool_use_id":"t2","input":{"text":"hello"}}}'
      IFS= read -r line; note "$line"
      mcp kit echo '{"text":"hello"}'
      case $answer in *'echo: hello'*) says 'it said hello' ;; *) says 'no answer' ;; esac
      ends success false done ;;
    *'"type":"user"'*'wait for ever'*)
      IFS= read -r line; note "$line"
      case $line in *'"subtype":"interrupt"'*) ends error_during_execution true interrupted ;; *) exit 3 ;; esac ;;
    *'"type":"user"'*'die in the middle'*)
      for part in one two; do
        say '{"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"'"$part"'"}],"usage":{"input_tokens":4,"output_tokens":3}},"parent_tool_use_id":null}'
      done
      say '{"type":"assistant","message":{"id":"m2","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error"}],"usage":{"input_tokens":0,"output_tokens":0}},"parent_tool_use_id":null}'
      exit 3 ;;
    *'"type":"user"'*'fail'*) ends success true 'Credit balance is too low' ;;
    *'"type":"user"'*) says 'claude answer'; ends success false done ;;
  esac
done
