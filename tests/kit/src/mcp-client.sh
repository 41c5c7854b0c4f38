# A client of the MCP servers that swarm hands on: `mcp NAME TOOL INPUT` sets `answer` to the response of a call.
mcp() {
  mkfifo mcp-to mcp-from
  "$swarm" __mcp-relay "$1" <mcp-to >mcp-from &
  exec 3>mcp-to 4<mcp-from
  rm mcp-to mcp-from
  {
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fake","version":"1"}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"'"$2"'","arguments":'"$3"'}}'
  } >&3
  while IFS= read -r answer <&4; do
    case $answer in *'"id":2'*) break ;; esac
  done
  exec 3>&- 4<&-
}
