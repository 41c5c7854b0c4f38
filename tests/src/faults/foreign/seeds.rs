//! Valid data of each kind, as written by other programs, from real files where available. Also the
//! initial corpus of the fuzzer.

use std::fs;
use std::path::Path;

/// Files written by Claude Code.
const CAPTURED: &str = "crates/swarm-protocol/tests/fixtures/claude-code-2.1.329";

/// Returns valid data for a target from the repository.
///
/// # Panics
/// If a file of the repository cannot be read.
pub(super) fn seeds(target: &str, repository: &Path) -> Vec<Vec<u8>> {
    let captured = |kind: &str| files(&repository.join(CAPTURED).join(kind));
    match target {
        "inbox" => {
            let entries = captured("inbox-entries");
            let all = entries.join(&b","[..]);
            let mut inboxes: Vec<_> = entries.iter().map(|entry| array(entry)).collect();
            inboxes.push(array(&all));
            inboxes.push(
                fs::read(repository.join(CAPTURED).join("malformed_entries.json"))
                    .expect("a sample"),
            );
            inboxes
        }
        "config" => captured("config"),
        "task" => captured("tasks"),
        "frame" => FRAMES
            .iter()
            .map(|frame| frame.as_bytes().to_vec())
            .collect(),
        "stream" => STREAMS
            .iter()
            .map(|(how, events)| stream(*how, events))
            .collect(),
        "definition" => {
            let mut all = files(&repository.join("config/agents"));
            all.extend(DEFINITIONS.iter().map(|text| text.as_bytes().to_vec()));
            all
        }
        "settings" => SETTINGS
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect(),
        "shell" => COMMANDS
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect(),
        "panes" => PANES.iter().map(|fields| lines(fields)).collect(),
        "transcript" => TRANSCRIPTS
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect(),
        _ => panic!("no such target: {target}"),
    }
}

fn files(directory: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(directory).expect("a directory of samples");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read(path).expect("a sample"))
        .collect()
}

fn array(element: &[u8]) -> Vec<u8> {
    [&b"["[..], element, b"]"].concat()
}

fn stream(how: u8, events: &[&str]) -> Vec<u8> {
    let mut bytes = vec![how];
    for data in events {
        let kind = data.split('"').nth(3).unwrap_or_default();
        bytes.extend(format!("event: {kind}\ndata: {data}\n\n").into_bytes());
    }
    bytes
}

/// Output of tmux, a line for each pane with fields separated by `|`: a lead with a member next to
/// it, swarm's own server, and panes of a person who has changed every option.
const PANES: [&[&str]; 3] = [
    &[
        "%0|@0|$0|1|77|0|1|200|50|0|0|0|60|50|0|78||||||||user|work|top|vm||||",
        "%1|@0|$0|1|77|0|0|200|50|1|61|0|139|50|0|79|||demo|bob|0b9c9a0e-5b0a-4c8e-9d53-2f6f1f3c1a11|1|blue|user|work|top|bob · idle|pane-border-status||/home/x/.claude|bob",
    ],
    &[
        "%3|@1|$1|0|99|1|1|200|50|0|0|0|200|50|1|0|7||demo|eve|0b9c9a0e-5b0a-4c8e-9d53-2f6f1f3c1a12|1|purple|claude-swarm|swarm-view|top|eve · working|||/r|eve",
        "%4|@1|$1|0|99|1|0|200|50|1|0|0|200|50|0|0|||demo|ann|0b9c9a0e-5b0a-4c8e-9d53-2f6f1f3c1a13||green|claude-swarm|swarm-view|top|ann · starting|||/r|ann",
    ],
    &[
        "%7|@2|$0|2|77|0|1|80|24|1|0|0|80|24|0|80|||a b|#{x}|no id|1|no colour|user|x y|bottom|; rm|a|b|c|#[fg=red]",
    ],
];

fn lines(panes: &[&str]) -> Vec<u8> {
    let lines: Vec<String> = panes.iter().map(|line| line.replace('|', "\t")).collect();
    (lines.join("\n") + "\n").into_bytes()
}

const FRAMES: [&str; 9] = [
    r#"{"type":"idle_notification","from":"a","timestamp":"2026-11-20T10:00:00.000Z","idleReason":"available","summary":"x"}"#,
    r#"{"type":"shutdown_request","requestId":"shutdown-1@a","from":"team-lead","reason":"done","timestamp":"2026-11-20T10:00:00.000Z"}"#,
    r#"{"type":"shutdown_approved","requestId":"shutdown-1@a","from":"a","timestamp":"2026-11-20T10:00:00.000Z","paneId":"%1","backendType":"tmux"}"#,
    r#"{"type":"shutdown_rejected","requestId":"shutdown-1@a","from":"a","reason":"busy","timestamp":"2026-11-20T10:00:00.000Z"}"#,
    r#"{"type":"permission_request","request_id":"perm-1-a","agent_id":"a","tool_name":"Bash","tool_use_id":"t","description":"d","input":{"command":"ls"},"permission_suggestions":[]}"#,
    r#"{"type":"permission_response","request_id":"perm-1-a","subtype":"success","response":{"updated_input":{"command":"ls"},"permission_updates":[]}}"#,
    r#"{"type":"plan_approval_request","from":"a","timestamp":"2026-11-20T10:00:00.000Z","planFilePath":"/p","planContent":"plan","requestId":"plan-1"}"#,
    r#"{"type":"plan_approval_response","requestId":"plan-1","approved":true,"feedback":"f","timestamp":"2026-11-20T10:00:00.000Z","permissionMode":"default"}"#,
    r#"{"type":"task_assignment","taskId":"1","subject":"s","description":"d","assignedBy":"team-lead","timestamp":"2026-11-20T10:00:00.000Z"}"#,
];

const STREAMS: [(u8, &[&str]); 5] = [
    (
        8,
        &[
            r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Gr\u00fc\u00dfe \ud83e\udde0"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ),
    (
        2,
        &[
            r#"{"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":5,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Read","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":" \"a.rs\", \"limit\": 1.5e3}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"xx"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ),
    (
        0,
        &[
            r#"{"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":5}}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"r1"}"#,
        ],
    ),
    (
        7,
        &[
            r#"{"id":"c1","object":"chat.completion.chunk","model":"m-2","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"hm"}}]}"#,
            r#"{"id":"c1","model":"m-2","choices":[{"index":0,"delta":{"content":"hello"}}]}"#,
            r#"{"id":"c1","model":"m-2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"Read","arguments":"{\"a\":"}}]}}]}"#,
            r#"{"id":"c1","model":"m-2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}"#,
            r#"{"id":"c1","model":"m-2","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}"#,
            "[DONE]",
        ],
    ),
    (
        1,
        &[
            r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#,
            r#"{"error":{"message":"no","type":"server_error","code":500}}"#,
        ],
    ),
];

const DEFINITIONS: [&str; 3] = [
    "---\nname: reviewer\ndescription: >\n  Reads: code\n  and tells.\ntools: [Read, Grep, \"Bash(git *)\"]\nmodel: opus\ncolor: red\nmaxTurns: 7\nmcpServers:\n  - one\n  - two: {command: run, args: [a, b]}\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{type: command, command: ./check}]\n---\n\nBe careful.\n",
    "---\nname: odd\ndescription: Use it: always. <example>user: \"hi\"</example>\ntools: Read, Write\ndisallowedTools: *\npermissionMode: plan\nbackground: yes\nskills: &a [x]\nmemory: *a\n---\r\nText\r\n",
    r#"{"reviewer":{"description":"d","prompt":"p","tools":["Read"],"model":"haiku"}}"#,
];

const SETTINGS: [&str; 3] = [
    r#"{"permissions":{"allow":["Bash(npm run test:*)","Read(~/docs/**)","mcp__a__*"],"deny":["Read(./.env)","WebFetch(domain:x.org)"],"ask":["Bash(git push:*)"],"defaultMode":"plan","additionalDirectories":["../b"],"disableBypassPermissionsMode":"disable"}}"#,
    r#"{"hooks":{"PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"a","timeout":5,"async":true}]}],"Stop":[{"hooks":[{"type":"prompt","prompt":"p"}]}],"Nothing":[]}}"#,
    r#"{"mcpServers":{"a":{"command":"x","args":["y"],"env":{"K":"v"}},"b":{"type":"http","url":"https://x/mcp","headers":{"H":"v"}},"c":{"type":"sse","url":"http://y"}}}"#,
];

const COMMANDS: [&str; 8] = [
    "git status && ls -la | head -n 5",
    "cd a; FOO=bar cat <<'EOF' > out\ntext $(id)\nEOF\n",
    "for f in *.rs; do wc -l \"$f\" 2>/dev/null; done",
    "find . -name '*.rs' -exec rm {} \\;",
    "echo `date` $((1+2)) ${x:-y} $'a\\n' \"a\\\"b\" &> log",
    "if [ -f a ]; then (cd b && git log --oneline -3); fi &",
    "Bash(git commit:*)",
    "Edit(//etc/**/x[a-z]{b,c}?)",
];

const TRANSCRIPTS: [&str; 2] = [
    concat!(
        r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"00000000-0000-4000-8000-000000000000","version":"1","type":"user","message":{"role":"user","content":"hello"},"uuid":"u1","timestamp":"2026-11-20T10:00:00.000Z","swarm":{"messageIds":["m1"]}}"#,
        "\n",
        r#"{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"a"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}},"uuid":"u2","timestamp":"2026-11-20T10:00:01.000Z"}"#,
        "\n",
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}],"is_error":true}]},"uuid":"u3"}"#,
        "\n",
    ),
    concat!(
        r#"{"type":"summary","summary":"s","leafUuid":"u"}"#,
        "\n",
        r#"{"type":"system","subtype":"swarm_turn_end","content":"x","uuid":"u4","swarm":{"turnEnd":"interrupted","unanswered":{"input_tokens":3}}}"#,
        "\n\n",
        r#"{"type":"user","isSidechain":true,"agentId":"a1","message":{"content":"side"},"uuid":"u5"}"#,
        "\n",
    ),
];
