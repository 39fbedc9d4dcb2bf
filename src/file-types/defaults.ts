/** Defaults of the installation for all file types. */
import type { Config } from '../config/schema.ts'
import type { AnswerSettings, FileTypeDefaults, FinalUnitAction } from './file-type.ts'
import { builtInReturnCodes, compileReturnCodes } from './return-codes.ts'

export function fileTypeDefaultsOf(config: Config): FileTypeDefaults {
  const { rating } = config
  return {
    answers: answerSettingsOf(config),
    timeZone: rating.timeZone,
    countryPrefix: rating.countryPrefix,
    recordAgeMonthsMax: rating.recordAgeMonthsMax,
    rules: {
      rateCalculators: rating.rateCalculators,
      customerIdentification: rating.customerIdentification,
    },
  }
}

/** Answer settings of the configuration. Throws `FieldError` for invalid return codes. */
export function answerSettingsOf({ session, realtime, rating }: Config): AnswerSettings {
  return {
    quotaHoldingMs: session.quotaHoldingMs,
    thresholdPercent: session.quotaThresholdPercent,
    finalUnit: finalUnitOf(session),
    currencyCode: rating.currencyCode,
    returnCodes: compileReturnCodes(
      realtime.returnCodes,
      'realtime.returnCodes',
      builtInReturnCodes,
    ),
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
