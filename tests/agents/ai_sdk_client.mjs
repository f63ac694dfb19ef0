// The AI SDK with its providers for OpenAI-compatible servers, OpenAI's Responses and Anthropic's API.
// It is asked and answers as cell.py says. Its tool has a JSON Schema and no validation of its own.

import { readFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const MAX_STEPS = 4;
const RESULT = "RESULT-7: the file is written.";
const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string" },
    content: { type: "string" },
    mode: { type: "string", enum: ["create", "append"] },
  },
  required: ["path", "content"],
};

const modelOf = (url, { api, model }) => {
  const v1 = { baseURL: url + "/v1", apiKey: "none" };
  if (api === "messages") return createAnthropic(v1)(model);
  if (api === "responses") return createOpenAI(v1).responses(model);
  return createOpenAICompatible({ name: "proxy", includeUsage: true, ...v1 })(model);
};

async function play(url, cell, entered, texts) {
  const asked = {
    model: modelOf(url, cell),
    prompt: "Write the notes.",
    maxRetries: 0,
    // Else it refers to what the server has kept, and a proxy keeps nothing.
    providerOptions: { openai: { store: false } },
    stopWhen: stepCountIs(MAX_STEPS),
    abortSignal: AbortSignal.timeout(20000),
    tools: {
      write_file: tool({
        description: "Write a text file.",
        inputSchema: jsonSchema(SCHEMA),
        execute: async (input) => (entered.push(input), RESULT),
      }),
    },
  };
  if (!cell.streaming) {
    const result = await generateText(asked);
    texts.push(...result.steps.map((step) => step.text));
    return;
  }
  const errors = [];
  const result = streamText({ ...asked, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") texts.push(part.text);
    if (part.type === "error") errors.push(part.error);
  }
  if (errors.length) throw errors[0];
}

const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
const names = ["ai", "@ai-sdk/openai-compatible", "@ai-sdk/openai", "@ai-sdk/anthropic"];
console.log(JSON.stringify({ versions: Object.fromEntries(names.map((name) => [name, version(name)])) }));
const { url, cells } = JSON.parse(readFileSync(0, "utf8"));
for (const cell of cells) {
  const entered = [], texts = [], begun = performance.now();
  let error = null;
  try {
    await play(url, cell, entered, texts);
  } catch (failure) {
    error = { type: failure?.name ?? typeof failure, message: String(failure?.message ?? JSON.stringify(failure)).slice(0, 300) };
  }
  const seconds = Math.round(performance.now() - begun) / 1000;
  console.log(JSON.stringify({ model: cell.model, entered, text: texts.join(""), error, seconds }));
}
