// A writer that locks with npm's proper-lockfile, as Claude Code does: `node writes.js INBOX LOG NAME FIRST LAST`.
// It says what it does in the same words as `writes-as-others-do`.
'use strict';
const fs = require('fs');
const lockfile = require('proper-lockfile');

const [inbox, log, name, first, last] = process.argv.slice(2);
const pen = fs.openSync(log, 'a', 0o600);
const say = (words) => fs.writeSync(pen, `${process.hrtime.bigint()} ${words}\n`);
const retries = { retries: 10, minTimeout: 5, maxTimeout: 100 };

async function send(number) {
  if (!fs.existsSync(inbox)) {
    try { fs.writeFileSync(inbox, '[]', { flag: 'wx', mode: 0o600 }); } catch { /* somebody else made it */ }
  }
  let release;
  try {
    release = await lockfile.lock(inbox, { retries });
  } catch {
    say(`gave-up ${number}`);
    return false;
  }
  say(`locked ${fs.statSync(`${inbox}.lock`).ino}`);
  say(`begin ${number}`);
  const entries = JSON.parse(fs.readFileSync(inbox, 'utf8'));
  const id = `${name}-${number}`;
  entries.push({
    from: name, text: `${name} ${number}`, timestamp: '2026-11-20T10:00:00.000Z',
    msgV: 1, msg_id: id, type: 'message', read: false,
  });
  const temporary = `${inbox}.tmp.${process.pid.toString(16).padStart(8, '0')}`;
  fs.writeFileSync(temporary, JSON.stringify(entries, null, 2), { mode: 0o600 });
  fs.renameSync(temporary, inbox);
  say(`sent ${number} ${id}`);
  await release();
  say('released');
  return true;
}

(async () => {
  for (let number = Number(first); number < Number(last); number += 1) {
    while (!(await send(number)));
  }
  say('finished');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
