/**
 * Decodes a charge request and encodes its answer, by message format and size, compared with
 * `JSON.parse` and `JSON.stringify` of the same content in alternation within one run.
 */
import { parseArgs } from 'node:util'
import type { ChargeOutcome } from '../src/domain/charge-outcome.ts'
import type { Codec } from '../src/realtime/codecs/codec.ts'
import { CONTEXT, type Dialect, dialectsOf, PLAIN } from './dialects.ts'
import { outcomeOf, SIZES, type Size, updateOf } from './messages.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '30' },
    ms: { type: 'string', default: '10' },
    warmup: { type: 'string', default: '300' },
    messages: { type: 'string', default: '64' },
  },
})
const ROUNDS = Number(values.rounds)
const TURN_MS = Number(values.ms)
const WARMUP_MS = Number(values.warmup)
const MESSAGES = Number(values.messages)

const now = () => performance.now()
/** A checksum over the results, so that the compiler cannot drop the work. */
let seen = 0

/** Reads a character near the end, which flattens a concatenated string. */
function look(text: string): void {
  seen += text.charCodeAt(text.length - 2)
}

/** A measured function, and the time of one call in each round, ns. */
interface Contender {
  run: (index: number) => void
  ns: number[]
}

const contender = (run: Contender['run']): Contender => ({ run, ns: [] })

interface Measured {
  dialect: Dialect
  bytes: number
  answerBytes: number
  ours: Contender
  ceiling: Contender
}

/** The text of an answer, starting from the bytes of its request. */
function answerTo(codec: Codec<unknown>, body: Buffer, outcome: ChargeOutcome): string {
  const decoded = codec.decode(body, CONTEXT)
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  return codec.encode(decoded.envelope, outcome)
}

function outcomeFor(codec: Codec<unknown>, body: Buffer, index: number): ChargeOutcome {
  const decoded = codec.decode(body, CONTEXT)
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  if (decoded.request === null) throw new Error('nothing to charge')
  // Outcomes arrive as copies from another thread.
  return structuredClone(outcomeOf(decoded.request, index))
}

function measuredOf(dialect: Dialect, size: Size): Measured {
  const { codec, bodyOf, isJson } = dialect
  const messages = Array.from({ length: MESSAGES }, (_, index) => updateOf(size, index))
  const bodies = messages.map((message) => Buffer.from(bodyOf(message)))
  const outcomes = bodies.map((body, index) => outcomeFor(codec, body, index))
  const answers = bodies.map((body, at) => answerTo(codec, body, outcomes[at] as ChargeOutcome))
  // Other formats are compared with plain JSON of the same content.
  const jsons = isJson ? bodies : messages.map((message) => Buffer.from(PLAIN.bodyOf(message)))
  const objects: unknown[] = jsons.map((body, at) =>
    JSON.parse(isJson ? (answers[at] as string) : answerTo(PLAIN.codec, body, outcomes[at]!)),
  )
  return {
    dialect,
    bytes: bodies[0]?.length ?? 0,
    answerBytes: answers[0]?.length ?? 0,
    ours: contender((index) =>
      look(answerTo(codec, bodies[index] as Buffer, outcomes[index] as ChargeOutcome)),
    ),
    ceiling: contender((index) => {
      if (JSON.parse((jsons[index] as Buffer).toString('utf8')) !== null) seen += 1
      look(JSON.stringify(objects[index]))
    }),
  }
}

/** Nanoseconds per call, over as many calls as fit into the time. */
function timed({ run }: Contender, ms: number): number {
  const start = now()
  let calls = 0
  while (now() - start < ms) {
    for (let index = 0; index < MESSAGES; index += 1) run(index)
    calls += MESSAGES
  }
  return ((now() - start) * 1e6) / calls
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

/** One line for each message format; bench/README.md has the goals. */
function report(size: Size, all: readonly Measured[]): void {
  const nsOf = (name: string) => median(all.find((one) => one.dialect.name === name)?.ours.ns ?? [])
  const [plainNs, mappedNs] = [nsOf('json'), nsOf('json_mapped')]
  for (const { dialect, bytes, answerBytes, ours, ceiling } of all) {
    const { name, goal } = dialect
    const [ns, ceilingNs] = [median(ours.ns), median(ceiling.ns)]
    const baseNs = goal?.of === 'plain' ? plainNs : ceilingNs
    const aim =
      goal === null ? '' : ` goal=${goal.ratio}_of_${goal.of} is=${(ns / baseNs).toFixed(2)}`
    const sizes = `size=${size} bytes=${bytes} answer_bytes=${answerBytes}`
    const times = `ns=${ns.toFixed(0)} json_ns=${ceilingNs.toFixed(0)}`
    const ratio = `ratio=${(ns / ceilingNs).toFixed(2)}`
    const mapped = dialect.isJson ? '' : ` of_mapped=${(ns / mappedNs).toFixed(2)}`
    process.stdout.write(`dialect=${name} ${sizes} ${times} ${ratio}${aim}${mapped}\n`)
  }
}

const bySize = SIZES.map((size) => dialectsOf(size).map((dialect) => measuredOf(dialect, size)))
const contenders = bySize.flat().flatMap(({ ours, ceiling }) => [ours, ceiling])
// Warm-up until the code is fully optimised.
for (const one of contenders) timed(one, WARMUP_MS)
for (let round = 0; round < ROUNDS; round += 1) {
  for (const one of contenders) one.ns.push(timed(one, TURN_MS))
}
for (const [at, size] of SIZES.entries()) report(size, bySize[at] ?? [])
if (seen === 0) throw new Error('nothing was made')
