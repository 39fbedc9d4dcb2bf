import type { Config } from '../../config/schema.ts'
import { type Reason, reasons } from '../../domain/charge-outcome.ts'
import type { AnswerSettings, FinalUnitAction } from './file-type.ts'

/** What answers have by the configuration (session.*). */
export function answerSettingsOf({ session }: Config): AnswerSettings {
  return {
    quotaHoldingMs: session.quotaHoldingMs,
    thresholdPercent: session.quotaThresholdPercent,
    finalUnit: finalUnitOf(session),
    returnCodes: builtInCodes(),
  }
}

function finalUnitOf(session: Config['session']): FinalUnitAction {
  switch (session.finalUnitAction) {
    case 'redirect':
      return {
        action: 'redirect',
        addressType: session.redirectAddressType,
        address: session.redirectAddress,
      }
    case 'restrict':
      return { action: 'restrict', filters: session.restrictionFilters }
    default:
      return { action: session.finalUnitAction }
  }
}

function builtInCodes(): Readonly<Record<Reason, number>> {
  const codes = Object.entries(reasons).map(([reason, { code }]) => [reason, code])
  return Object.fromEntries(codes)
}
