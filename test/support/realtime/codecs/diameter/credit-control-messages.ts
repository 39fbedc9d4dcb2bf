/** Credit-Control-Requests in JSON form, and the codec of the built-in file type. */
import { compileFileType } from '../../../../../src/file-types/compile.ts'
import { builtInReturnCodes } from '../../../../../src/file-types/return-codes.ts'
import { codecOf } from '../../../../../src/realtime/codecs/codec-of.ts'
import { builtIn, context, type Document } from './file-type.ts'

export type Body = Record<string, unknown>

export const ccr = (type: number, more: Body = {}): Body => ({
  'Session-Id': 's',
  'CC-Request-Type': type,
  'CC-Request-Number': 0,
  'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '0501234567' },
  ...more,
})
export const mscc = (type: number, ...members: Body[]) =>
  ccr(type, { 'Multiple-Services-Credit-Control': members })

export function formatOf(document: Document = builtIn(), currencyCode = 999) {
  return codecOf(
    compileFileType(document, {
      answers: {
        quotaHoldingMs: 600_000,
        thresholdPercent: 20,
        currencyCode,
        finalUnit: { action: 'terminate' },
        returnCodes: builtInReturnCodes,
      },
      timeZone: 'UTC',
      countryPrefix: '972',
      recordAgeMonthsMax: 3,
      rules: { rateCalculators: {}, customerIdentification: {} },
    }),
  )
}

export function decode(body: Body, format = formatOf()) {
  const decoded = format.decode(Buffer.from(JSON.stringify(body)), context)
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  return decoded
}
