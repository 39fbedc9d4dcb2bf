import { describe, expect, it } from 'vitest'
import { type Reason, reasons } from '../../src/domain/charge-outcome.ts'
import { builtInReturnCodes, compileReturnCodes } from '../../src/file-types/return-codes.ts'

const compile = (document: unknown) => compileReturnCodes(document, 'codes', builtInReturnCodes)

/** The codes that differ from the built-in ones. */
function changedBy(document: unknown) {
  return Object.entries(compile(document)).filter(
    ([reason, code]) => code !== reasons[reason as Reason].code,
  )
}

describe('return codes', () => {
  it('are built in for every reason', () => {
    expect(builtInReturnCodes).toMatchObject({ granted: 1, noCredit: -1, noTax: -5, timedOut: -92 })
    expect(Object.keys(builtInReturnCodes)).toEqual(Object.keys(reasons))
    expect(changedBy(undefined)).toEqual([])
    expect(changedBy(null)).toEqual([])
  })

  it.each([
    ['ok', ['granted', 'notCharged']],
    ['not_charged', ['notCharged']],
    ['no_available_balances', ['noCredit', 'capReached']],
    ['cap_reached', ['capReached']],
    ['customer', ['unknownSubscriber']],
    ['rate', ['noRate', 'blocked']],
    ['blocked', ['blocked']],
    ['pricing', ['pricing']],
    ['tax', ['noTax']],
    ['unknown_session', ['unknownSession']],
    ['session_closed', ['sessionClosed']],
    ['out_of_order', ['outOfOrder']],
    ['number_reused', ['numberReused']],
    ['barred', ['barred']],
    ['total_below', ['totalBelow']],
    ['malformed', ['malformed']],
    ['overloaded', ['overloaded', 'contention']],
    ['store_down', ['storeDown', 'corrupt']],
    ['timed_out', ['timedOut']],
  ])('with the key %s apply to %j', (key, changed) => {
    expect(changedBy({ [key]: 2001 })).toEqual(changed.map((reason) => [reason, 2001]))
  })

  it('have four keys that may be nested', () => {
    const nested = { customer: 5030, rate: 5031, pricing: 5012, tax: 0 }
    expect(compile({ failed_calculator: nested })).toEqual(compile(nested))
  })

  it.each([
    [
      { ok: 2001, not_charged: 4011 },
      { granted: 2001, notCharged: 4011 },
    ],
    [
      { not_charged: 4011, ok: 2001 },
      { granted: 2001, notCharged: 4011 },
    ],
    [
      { blocked: 5003, failed_calculator: { rate: 5031 } },
      { noRate: 5031, blocked: 5003 },
    ],
    [{ failed_calculator: { rate: 5031 } }, { noRate: 5031, blocked: 5031 }],
  ])('of %j do not replace a code that is set separately', (document, codes) => {
    expect(compile(document)).toMatchObject(codes)
  })

  it('override those for all file types, which do not change', () => {
    const base = compile({ ok: 2001, rate: 5031 })
    const own = compileReturnCodes({ ok: 0 }, 'codes', base)
    expect([own.granted, own.noRate, own.noTax]).toEqual([0, 5031, -5])
    expect([own.notCharged, own.blocked]).toEqual([0, 5031])
    expect(base.granted).toBe(2001)
  })

  it.each([
    [[], 'codes must be an object'],
    ['1', 'codes must be an object'],
    [{ okay: 1 }, 'codes.okay is not known'],
    [{ ok: '1' }, 'codes.ok must be a whole number'],
    [{ ok: 1.5 }, 'codes.ok must be a whole number'],
    [{ ok: null }, 'codes.ok must be a whole number'],
    [{ ok: 2 ** 53 }, 'codes.ok must be a whole number'],
    [{ failed_calculator: -2 }, 'codes.failed_calculator must be an object'],
    [{ failed_calculator: { ok: 1 } }, 'codes.failed_calculator.ok is not known'],
    [{ failed_calculator: { tax: {} } }, 'codes.failed_calculator.tax must be a whole number'],
    [
      { tax: 1, failed_calculator: { tax: 1 } },
      'codes.failed_calculator.tax is given as codes.tax, too',
    ],
  ])('cannot be %j', (document, message) => expect(() => compile(document)).toThrow(message))
})
