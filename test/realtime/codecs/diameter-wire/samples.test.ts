import { describe, expect, it } from 'vitest'
import {
  readAvps,
  readMessage,
  type WireAvp,
  writeMessage,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import {
  context,
  outcomeFor,
  requestIn,
  wire,
} from '../../../support/realtime/codecs/diameter-wire/codecs.ts'
import { samples, whyNoSamples } from '../../../support/realtime/codecs/diameter-wire/samples.ts'

const TGPP_CAPTURE_MS = Date.UTC(2021, 4, 5, 20, 30)
const then = { ...context, nowMs: TGPP_CAPTURE_MS }
const KINDS = ['', 'start', 'update', 'release', 'event']

const find = (avps: readonly WireAvp[], code: number) => avps.filter((one) => one.code === code)
const inner = (avp: WireAvp | undefined) => (avp === undefined ? [] : readAvps(avp.data))
const number = (avp: WireAvp | undefined, absent = 0) => {
  if (avp === undefined) return absent
  return avp.data.length === 4 ? avp.data.readUInt32BE() : Number(avp.data.readBigUInt64BE())
}

/** The services of a request, read independently of the codec. */
function servicesIn(avps: readonly WireAvp[]) {
  return find(avps, 456).map((group) => {
    const service = inner(group)
    const used = find(service, 446).map((unit) => number(find(inner(unit), 421)[0]))
    const asked = find(service, 437)[0]
    return {
      ratingGroup: number(find(service, 432)[0]),
      used: used.reduce((sum, units) => sum + units, 0),
      requested: asked === undefined ? -1 : number(find(inner(asked), 421)[0]),
    }
  })
}

describe.skipIf(whyNoSamples !== '')(`captured messages${whyNoSamples}`, () => {
  it.each(samples())('$name is written with the bytes that were read', ({ bytes }) => {
    expect(writeMessage(readMessage(bytes))).toEqual(bytes)
  })

  const requests = samples().filter(({ isRequest }) => isRequest)

  it.each(requests)('$name is a charge request', ({ bytes, type, number, services }) => {
    const { avps } = readMessage(bytes)
    const request = requestIn(wire, bytes, then)
    expect(request).toMatchObject({
      kind: KINDS[type],
      requestNumber: number,
      sessionId: find(avps, 263)[0]?.data.toString(),
      eventTimeMs: (number4(find(avps, 55)[0]) - 2_208_988_800) * 1000,
      services: servicesIn(avps).map((service) => ({
        ...service,
        usaget: 'data',
        requested: type === 3 ? -1 : service.requested,
      })),
    })
    expect(request.services).toHaveLength(services)
    expect(Object.values(request.fields ?? {})).toEqual(['1234567810', '999991234567810'])
  })

  it.each(requests)('$name has an answer with its services', ({ bytes, services }) => {
    const decoded = wire.decode(bytes, then)
    if (!decoded.ok || decoded.request === null) throw new Error('is refused')
    const answer = readMessage(wire.encode(decoded.envelope, outcomeFor(decoded.request)))
    const { hopByHopId, endToEndId } = readMessage(bytes)
    expect(answer).toMatchObject({ flags: 0x40, hopByHopId, endToEndId })
    const groups = find(answer.avps, 456).map((group) => number(find(inner(group), 432)[0]))
    expect(groups).toEqual(servicesIn(readMessage(bytes).avps).map((one) => one.ratingGroup))
    expect(groups).toHaveLength(services)
  })
})

function number4(avp: WireAvp | undefined): number {
  return avp?.data.readUInt32BE() ?? 0
}
