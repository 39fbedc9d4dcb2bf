/**
 * Decodes a credit-control request in bytes, maps it, and encodes its answer; compared with the
 * package `diameter`, which maps nothing, for a small request and its answer.
 */
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { loadConfig } from '../src/config/load.ts'
import type { ChargeOutcome } from '../src/domain/charge-outcome.ts'
import { builtInFileTypes } from '../src/file-types/built-in.ts'
import { compileFileType } from '../src/file-types/compile.ts'
import { fileTypeDefaultsOf } from '../src/file-types/defaults.ts'
import { routeOf } from '../src/realtime/codecs/diameter-wire/route.ts'
import { createWireCodec } from '../src/realtime/codecs/diameter-wire/wire-codec.ts'
import { CONTEXT } from './dialects.ts'
import { outcomeOf } from './messages.ts'
import { smallUpdateBytes, updateBytes } from './wire-messages.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    ms: { type: 'string', default: '3' },
    warmup: { type: 'string', default: '500' },
    messages: { type: 'string', default: '64' },
  },
})
const ROUNDS = Number(values.rounds)
const TURN_MS = Number(values.ms)
const WARMUP_MS = Number(values.warmup)
const MESSAGES = Number(values.messages)
/** For reading and writing together, at 900 bytes and two services. */
const GOAL_US = 15

interface PackageCodec {
  encodeMessage(message: unknown): Buffer
  decodeMessage(bytes: Buffer): unknown
}

const packaged = createRequire(import.meta.url)('diameter/lib/diameter-codec.js') as PackageCodec
const defaults = fileTypeDefaultsOf(loadConfig({ env: {} }))
const fileType = compileFileType(builtInFileTypes().get('diameter'), defaults)
const codec = createWireCodec(fileType, {
  originHost: 'tg1.charging.example.net',
  originRealm: 'charging.example.net',
})

const now = () => performance.now()
/** A checksum over the results, so that the compiler cannot drop the work. */
let seen = 0

/** A measured function, and the time of one call in each round, µs. */
interface Contender {
  name: string
  run: (index: number) => void
  us: number[]
}

interface Prepared {
  bodies: readonly Buffer[]
  outcomes: readonly ChargeOutcome[]
  answers: readonly Buffer[]
}

function decoded(body: Buffer) {
  const found = codec.decode(body, CONTEXT)
  if (!found.ok) throw new Error(`${found.error.field} ${found.error.why}`)
  if (found.request === null) throw new Error('nothing to charge')
  return { request: found.request, envelope: found.envelope }
}

function prepared(bytesOf: (index: number) => Buffer): Prepared {
  const bodies = Array.from({ length: MESSAGES }, (_, index) => bytesOf(index))
  const outcomes = bodies.map((body, index) =>
    // Outcomes arrive as copies from another thread.
    structuredClone(outcomeOf(decoded(body).request, index)),
  )
  const answers = bodies.map((body, at) =>
    codec.encode(decoded(body).envelope, outcomes[at] as ChargeOutcome),
  )
  return { bodies, outcomes, answers }
}

function ours({ bodies, outcomes }: Prepared): Contender['run'] {
  return (index) => {
    const { envelope } = decoded(bodies[index] as Buffer)
    seen += codec.encode(envelope, outcomes[index] as ChargeOutcome).length
  }
}

function theirs({ bodies, answers }: Prepared): Contender['run'] {
  const messages = answers.map((answer) => packaged.decodeMessage(answer))
  return (index) => {
    if (packaged.decodeMessage(bodies[index] as Buffer) !== null) seen += 1
    seen += packaged.encodeMessage(messages[index]).length
  }
}

/** Microseconds per call, over as many calls as fit into the time. */
function timed({ run }: Contender, ms: number): number {
  const start = now()
  let calls = 0
  while (now() - start < ms) {
    for (let index = 0; index < MESSAGES; index += 1) run(index)
    calls += MESSAGES
  }
  return ((now() - start) * 1e3) / calls
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

const large = prepared(updateBytes)
const small = prepared(smallUpdateBytes)
const envelopes = large.bodies.map((body) => decoded(body).envelope)
const contenders: readonly Contender[] = [
  {
    name: 'route',
    run: (index) => look(routeOf(large.bodies[index] as Buffer).originHost),
    us: [],
  },
  {
    name: 'decode',
    run: (index) => look(decoded(large.bodies[index] as Buffer).request.origin),
    us: [],
  },
  {
    name: 'encode',
    run: (index) => {
      seen += codec.encode(envelopes[index], large.outcomes[index] as ChargeOutcome).length
    },
    us: [],
  },
  { name: 'both', run: ours(large), us: [] },
  { name: 'small_both', run: ours(small), us: [] },
  { name: 'small_both_package', run: theirs(small), us: [] },
]

function look(text: string): void {
  seen += text.length
}

// Warm-up until the code is fully optimised.
for (const one of contenders) timed(one, WARMUP_MS)
for (let round = 0; round < ROUNDS; round += 1) {
  for (const one of contenders) one.us.push(timed(one, TURN_MS))
}
/** The minimum, because other load on the machine increases the others. */
const usOf = (name: string) => Math.min(...(contenders.find((one) => one.name === name)?.us ?? []))
for (const { name, us } of contenders) {
  const { bodies, answers } = name.startsWith('small') ? small : large
  const sizes = `bytes=${bodies[0]?.length} answer_bytes=${answers[0]?.length}`
  const best = Math.min(...us).toFixed(2)
  process.stdout.write(`${name} ${sizes} us=${median(us).toFixed(2)} best_us=${best}\n`)
}
process.stdout.write(`goal_us=${GOAL_US} is=${usOf('both').toFixed(2)}\n`)
const ratio = usOf('small_both_package') / usOf('small_both')
process.stdout.write(`package_ratio=${ratio.toFixed(2)}\n`)
if (seen === 0) throw new Error('nothing was made')
