import { describe, expect, it } from 'vitest'
import { charge } from '../../src/cli/charge.ts'
import { UsageError } from '../../src/cli/errors.ts'
import { Shell } from '../../src/cli/shell.ts'

describe('tollgate charge', () => {
  it.each([
    [{ aids: '1,x' }, '--aids must be account numbers'],
    [{ aids: '1', exclude: '2' }, 'give either --aids or --exclude'],
    [{ 'pay-mode': 'all' }, '--pay-mode must be one_payment or multiple_payments'],
  ])('refuses %o', async (options, message) => {
    const refused = charge(new Shell(), options)
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toBeInstanceOf(UsageError)
  })
})
