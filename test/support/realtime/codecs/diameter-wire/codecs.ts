/** The built-in file type in both of its forms. */
import { plainOutcome, type ServiceOutcome } from '../../../../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../../../../src/domain/charge-request.ts'
import type { DecodeContext, MessageCodec } from '../../../../../src/realtime/codecs/codec.ts'
import { codecOf } from '../../../../../src/realtime/codecs/codec-of.ts'
import { createWireCodec } from '../../../../../src/realtime/codecs/diameter-wire/wire-codec.ts'
import { builtIn, fileTypeOf, context as jsonContext } from '../diameter/file-type.ts'
import { treeOf } from './trees.ts'

export const identity = { originHost: 'tg1.charging.example.org', originRealm: 'example.org' }
export const context: DecodeContext = jsonContext

export const fileType = fileTypeOf(builtIn())
export const wire = createWireCodec(fileType, identity)
export const json = codecOf(fileType)

/** The request in a body. Throws the reason if it is refused. */
export function requestIn<Out>(
  codec: MessageCodec<unknown, Out>,
  body: Buffer,
  at: DecodeContext = context,
): ChargeRequest {
  const decoded = codec.decode(body, at)
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  if (decoded.request === null) throw new Error('nothing is to be charged')
  return decoded.request
}

/** All requested units granted; the second of several services has no rate. */
export function outcomeFor({ services }: ChargeRequest, given: Partial<ServiceOutcome> = {}) {
  const outcomes = services.map(
    ({ ratingGroup, usaget, requested }, index): ServiceOutcome => ({
      ratingGroup,
      usaget,
      reason: index === 1 ? 'noRate' : 'granted',
      granted: index === 1 ? 0 : Math.max(requested, 0),
      validityMs: 3_600_000,
      finalUnit: index === 0,
      cost: 0,
      quote: null,
      tariffChangeMs: 0,
      action: null,
      serviceIdentifier: '',
      parts: null,
      ...given,
    }),
  )
  return { ...plainOutcome('granted'), transactionId: 't1', cost: 1_250_000, services: outcomes }
}

/** The answer to a refused message, by names. Throws if the message is accepted. */
export function refusalOf(body: Buffer, codec = wire): Record<string, unknown> {
  const decoded = codec.decode(body, context)
  if (decoded.ok) throw new Error('is taken')
  return treeOf(codec.encodeError(decoded.error))
}
