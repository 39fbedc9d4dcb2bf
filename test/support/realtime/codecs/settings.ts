import { reasons } from '../../../../src/domain/charge-outcome.ts'
import type { AnswerSettings } from '../../../../src/file-types/file-type.ts'
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
