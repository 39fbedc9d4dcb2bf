import type { Line } from '../../../src/domain/line.ts'

/** A charge program in which nothing costs anything, and without usage so far. */
export const FREE = {
  tariff: { tiers: [], access: 0, extraDigits: 0, terms: null },
  access: false,
  priceOf: 'BASE',
  band: '',
  others: [],
  taxes: [],
  rounding: null,
  carried: null,
  hasGroups: false,
  includedUnits: 0,
  includedMoneyUnits: 0,
  includedMicros: 0,
  used: 0,
  chargedUnits: 0,
  charged: 0,
  debt: 0,
  accountDebt: 0,
  forfeitedUnits: 0,
  forfeitedMicros: 0,
  firstMs: 0,
  lastMs: 0,
  late: false,
}

/** An open line without usage so far, with overrides. */
export function lineOf(more: Partial<Line>): Line {
  return {
    stamp: 's',
    version: 0,
    aid: 1,
    sid: 7,
    origin: 'http',
    sessionId: 's',
    ratingGroup: 10,
    serviceIdentifier: '',
    usaget: 'data',
    calledNumber: '',
    rateKey: 'DATA',
    plan: 'DEMO',
    cycle: '202612',
    ...FREE,
    payments: [],
    state: 'open',
    ...more,
  }
}
