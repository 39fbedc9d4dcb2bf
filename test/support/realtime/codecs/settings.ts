import { reasons } from '../../../../src/domain/charge-outcome.ts'
import type { AnswerSettings } from '../../../../src/file-types/file-type.ts'
import type { DecodeContext } from '../../../../src/realtime/codecs/codec.ts'
import { createJsonCodec } from '../../../../src/realtime/codecs/json/codec.ts'

const codes = Object.entries(reasons).map(([reason, { code }]) => [reason, code])

/** The answer settings without any configuration. */
export const ANSWERS: AnswerSettings = {
  quotaHoldingMs: 0,
  thresholdPercent: 0,
  finalUnit: { action: 'terminate' },
  currencyCode: 999,
  returnCodes: Object.fromEntries(codes),
}

/** The plain JSON format without any configuration. */
export const jsonCodec = createJsonCodec(ANSWERS)

/** A request at this moment, with the limits of the default configuration. */
export const DECODE_CONTEXT: DecodeContext = {
  origin: 'test',
  nowMs: Date.UTC(2026, 10, 21, 10, 10),
  servicesMax: 32,
  zone: 'UTC',
  eventAgeMsMax: 90 * 86_400_000,
  eventFutureMsMax: 300_000,
  keptFields: [],
  identifyingFields: [],
  identifies: () => false,
}
