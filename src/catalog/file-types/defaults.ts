/** What an installation gives to all file types. */
import type { Config } from '../../config/schema.ts'
import { type Reason, reasons } from '../../domain/charge-outcome.ts'
import type { FileTypeDefaults } from './file-type.ts'

export function fileTypeDefaultsOf({ rating }: Config): FileTypeDefaults {
  const codes = Object.entries(reasons).map(([reason, { code }]) => [reason, code])
  return {
    answers: {
      quotaHoldingMs: 0,
      thresholdPercent: 0,
      finalUnit: { action: 'none' },
      returnCodes: Object.fromEntries(codes) as Readonly<Record<Reason, number>>,
    },
    timeZone: rating.timeZone,
    countryPrefix: rating.countryPrefix,
    rules: {
      rateCalculators: rating.rateCalculators,
      customerIdentification: rating.customerIdentification,
    },
  }
}
