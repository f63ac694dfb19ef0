// The AI SDK as a client of a proxy: argument 1 is its base URL. Prints what it understood, as one line of JSON.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const provider = createOpenAICompatible({
  name: "proxy",
  baseURL: process.argv[2],
  apiKey: "none",
  includeUsage: true,
});
const asked = (model, forecast) => ({
  model: provider(model),
  prompt: "What is the weather in Oslo?",
  maxRetries: 0,
  tools: {
    weather: tool({
      description: "Tell the weather.",
      inputSchema: jsonSchema({
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city", "days"],
      }),
      execute: forecast,
    }),
  },
});

/** Two steps, in which the tool is called and its result is quoted, as parts of a stream. */
async function streamed(model) {
  const ran = [];
  const forecast = async (input) => (ran.push(input), "4 degrees, rain");
  const result = streamText({ ...asked(model, forecast), stopWhen: stepCountIs(2), onError: () => {} });
  const parts = [];
  for await (const part of result.fullStream) parts.push(part);
  const of = (type) => parts.filter((part) => part.type === type);
  const joined = (type, name) => of(type).map((part) => part[name]).join("");
  return {
    ran,
    kinds: parts.map((part) => part.type),
    errors: of("error").map((part) => String(part.error)),
    fragments: of("tool-input-delta").map((part) => part.delta),
    calls: of("tool-call").map((part) => ({ name: part.toolName, input: part.input, invalid: part.invalid ?? false })),
    finish: of("finish-step").map((part) => part.finishReason),
    usage: of("finish-step").map((part) => part.usage.totalTokens),
    text: joined("text-delta", "text"),
    reasoning: joined("reasoning-delta", "text"),
  };
}

/** The same two steps without a stream. */
async function generated(model) {
  const ran = [];
  const forecast = async (input) => (ran.push(input), "4 degrees, rain");
  const result = await generateText({ ...asked(model, forecast), stopWhen: stepCountIs(2) });
  return {
    ran,
    finish: result.steps.map((step) => step.finishReason),
    usage: result.steps.map((step) => step.usage.totalTokens),
    calls: result.steps.flatMap((step) => step.toolCalls.map((call) => ({ name: call.toolName, input: call.input }))),
    text: result.text,
    reasoning: result.steps.map((step) => step.reasoningText ?? "").join(""),
  };
}

const models = process.argv.slice(3);
const said = {};
for (const model of models) said[model] = { streamed: await streamed(model), generated: await generated(model) };
console.log(JSON.stringify(said));
