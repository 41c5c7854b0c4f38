# An agent that speaks the Agent Client Protocol over stdin and stdout, one JSON object a line, with answers by rote.
say() { printf '%s\n' "$1"; }
number() { printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
chunk() {
  say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'
}
ends() { say '{"jsonrpc":"2.0","id":'"$1"',"result":{"stopReason":"'"$2"'"}}'; }
while read -r line; do
  id=$(number "$line")
  case $line in
    *'"method":"initialize"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":1,"agentCapabilities":{}}}' ;;
    *'"method":"session/new"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"sessionId":"s1"}}' ;;
    *'"method":"session/prompt"'*'clean up'*)
      say '{"jsonrpc":"2.0","id":900,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"rm -r build","rawInput":{"command":"rm -r build"}},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}'
      read -r answer
      case $answer in *'"optionId":"yes"'*) chunk 'cleaned up' ;; *) chunk 'left as it is' ;; esac
      ends "$id" end_turn ;;
    *'"method":"session/prompt"'*'wait for ever'*)
      read -r answer
      case $answer in *'"method":"session/cancel"'*) ends "$id" cancelled ;; *) exit 3 ;; esac ;;
    *'"method":"session/prompt"'*'fall over'*) exit 7 ;;
    *'"method":"session/prompt"'*) chunk 'foreign '; chunk 'answer'; ends "$id" end_turn ;;
  esac
done
