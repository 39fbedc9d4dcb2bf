/**
 * Decoding and encoding of one charge request in each dialect, against `JSON.parse` and
 * `JSON.stringify` of the same messages, in turns in the same run.
 */
import { parseArgs } from 'node:util'
import { reasons } from '../src/domain/charge-outcome.ts'
import type { Codec, DecodeContext } from '../src/realtime/codecs/codec.ts'
import { createJsonCodec } from '../src/realtime/codecs/json.ts'
import { FIRST_MS, outcomeOf, SIZES, updateOf } from './messages.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '40' },
    ms: { type: 'string', default: '10' },
    messages: { type: 'string', default: '64' },
  },
})
const MESSAGES = Number(values.messages)

const context: DecodeContext = {
  ...{ origin: 'bench', nowMs: FIRST_MS, servicesMax: 32, zone: 'UTC' },
  ...{ eventAgeMsMax: 90 * 86_400_000, eventFutureMsMax: 86_400_000 },
  ...{ keptFields: [], identifyingFields: [], identifies: () => false },
}

const now = () => performance.now()
const print = (line: string) => process.stdout.write(`${line}\n`)
/** Read at the end, so that nothing of the work can be left out. */
let sum = 0

/** Asks for a character far inside, for which a text that was put together must become one. */
function read(text: string): void {
  sum += text.charCodeAt(text.length - 2)
}

const plain = createJsonCodec({
  quotaHoldingMs: 0,
  thresholdPercent: 0,
  finalUnit: { action: 'terminate' },
  returnCodes: Object.fromEntries(Object.entries(reasons).map(([k, v]) => [k, v.code])) as any,
}) as Codec<any>
for (const size of SIZES) {
  const bodies = Array.from({ length: MESSAGES }, (_, index) =>
    Buffer.from(JSON.stringify(updateOf(size, index))),
  )
  const outcomes = bodies.map((body, index) => {
    const decoded = plain.decode(body, context)
    if (!decoded.ok || decoded.request === null) throw new Error(JSON.stringify(decoded))
    return outcomeOf(decoded.request, index)
  })
  const answers = bodies.map((body, index) => {
    const d = plain.decode(body, context)
    return JSON.parse(plain.encode((d as any).envelope, outcomes[index]!))
  })
  const ours = (i: number) => {
    const d = plain.decode(bodies[i]!, context)
    if (!d.ok) throw new Error('x')
    read(plain.encode(d.envelope, outcomes[i]!))
  }
  const dec = (i: number) => {
    const d = plain.decode(bodies[i]!, context)
    if (d.ok) sum += d.request!.services.length
  }
  const par = (i: number) => {
    const d: any = JSON.parse(bodies[i]!.toString())
    sum += d.request_num
  }
  const ceil = (i: number) => {
    par(i)
    read(JSON.stringify(answers[i]))
  }
  const t = [ours, ceil, dec, par].map((f) => ({ f, ns: [] as number[] }))
  for (let r = 0; r < Number(values.rounds); r++)
    for (const x of t) {
      const s = now()
      let n = 0
      while (now() - s < Number(values.ms)) {
        for (let i = 0; i < MESSAGES; i++) x.f(i)
        n += MESSAGES
      }
      x.ns.push(((now() - s) * 1e6) / n)
    }
  const med = t.map((x) => x.ns.sort((a, b) => a - b)[x.ns.length >> 1]!)
  print(
    `${size} bytes=${bodies[0]!.length} answer=${JSON.stringify(answers[0]).length} ours=${med[0]!.toFixed(0)} ceil=${med[1]!.toFixed(0)} ratio=${(med[0]! / med[1]!).toFixed(2)} dec=${med[2]!.toFixed(0)} parse=${med[3]!.toFixed(0)}`,
  )
}
if (sum === 0) print('0')
