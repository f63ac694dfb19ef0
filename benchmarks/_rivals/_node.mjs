// Runs @ai-sdk-tool/parser for the benchmark: a command a line on stdin, an answer a line on stdout.
//   {"load": key, "text": ...}   keeps a text
//   {"run": key, "protocol": name, "chunk": n, "cap": seconds, "loops": n, "tools": [...]}
// answers {"seconds": CPU time of this process, "share": how much was read, "calls": [...] or null, "error": ""}.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.argv[2] + '/'));
const parser = await import(pathToFileURL(require.resolve('@ai-sdk-tool/parser')));
const protocols = {
  morph: parser.morphXmlProtocol(),
  hermes: parser.hermesProtocol(),
  qwen: parser.qwen3CoderProtocol(),
};
const texts = new Map();
const spent = start => { const { user, system } = process.cpuUsage(start); return (user + system) / 1e6; };

function cut(text, size) {
  const chunks = [];
  for (let at = 0; at < text.length; at += size) chunks.push(text.slice(at, at + size));
  return chunks;
}

// As the middleware does it: the model's stream of parts is piped through the protocol's parser.
async function stream(protocol, tools, chunks, out, late) {
  let next = 0;
  const source = new ReadableStream({
    pull(controller) {
      if (next === chunks.length || (next % 64 === 63 && late())) {
        controller.enqueue({ type: 'finish', finishReason: 'stop', usage: {} });
        controller.close();
      } else {
        controller.enqueue({ type: 'text-delta', id: '1', delta: chunks[next++] });
      }
    },
  });
  for await (const part of source.pipeThrough(protocol.createStreamParser({ tools }))) {
    if (part.type === 'tool-call') out.push(part);
  }
  return next;
}

async function run({ run: key, protocol: name, chunk, cap, loops, tools }) {
  const text = texts.get(key);
  const protocol = protocols[name];
  const chunks = chunk ? cut(text, chunk) : [text];
  let calls, read = chunks.length;
  const start = process.cpuUsage();
  for (let loop = 0; loop < loops && read === chunks.length; loop++) {
    calls = [];
    if (chunk) read = await stream(protocol, tools, chunks, calls, () => spent(start) > cap);
    else calls = protocol.parseGeneratedText({ text, tools }).filter(part => part.type === 'tool-call');
  }
  const seconds = spent(start) / loops;
  const found = calls.map(call => [call.toolName, JSON.parse(call.input)]);
  return { seconds, share: read / chunks.length, calls: read === chunks.length ? found : null, error: '' };
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer = {};
  try {
    if ('load' in command) texts.clear(), texts.set(command.load, command.text);
    else answer = await run(command);
  } catch (error) {
    answer = { seconds: 0, share: 0, calls: null, error: String(error).slice(0, 80) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
