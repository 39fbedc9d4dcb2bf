import {
  type ChargeOutcome,
  plainOutcome,
  type ServiceOutcome,
} from '../../../src/domain/charge-outcome.ts'
import type {
  AnswerSettings,
  AnswerSource,
  Echo,
  Message,
} from '../../../src/file-types/file-type.ts'
import { builtInReturnCodes } from '../../../src/file-types/return-codes.ts'

export const settings: AnswerSettings = {
  quotaHoldingMs: 0,
  thresholdPercent: 0,
  finalUnit: { action: 'none' },
  currencyCode: 999,
  returnCodes: builtInReturnCodes,
}

export function service(given: Partial<ServiceOutcome> = {}): ServiceOutcome {
  return {
    ratingGroup: -1,
    serviceIdentifier: '',
    parts: null,
    usaget: 'data',
    reason: 'granted',
    granted: 0,
    validityMs: 0,
    tariffChangeMs: 0,
    action: null,
    finalUnit: false,
    cost: 0,
    quote: null,
    ...given,
  }
}

export function granted(services: ServiceOutcome[]): ChargeOutcome {
  return { ...plainOutcome('granted', '', 1001, 2001), transactionId: 't1', services }
}

export function echoOf(message: Message, entries: readonly Message[] = [message]): Echo {
  return {
    message,
    entries,
    requestType: 'U',
    recordType: 'update_request',
    sessionId: 's1',
    requestNumber: 3,
    pretend: false,
  }
}

/** An answer to a message with one service. */
export function answerOf(
  outcome: ChargeOutcome,
  echo: Partial<Echo> = {},
  given: Partial<AnswerSettings> = {},
): AnswerSource {
  return {
    fileType: 'GY',
    echo: { ...echoOf({}), ...echo },
    outcome,
    settings: () => ({ ...settings, ...given }),
  }
}
