/** The answers to callers whose usage records cannot be charged. */
import { expect, it } from 'vitest'
import type { MoneyCall } from '../../../src/admin/actions/action.ts'
import { lines, linesresubmit } from '../../../src/admin/actions/lines/charge-lines.ts'
import { RecordFileTypeError } from '../../../src/intake/open-intake.ts'
import { RecordsPostponedError } from '../../../src/intake/recorded.ts'
import { DEMO_BY } from '../../support/catalog/store.ts'

/** A call on a server whose intake fails. */
const failing = (error: Error) =>
  ({
    ...{ actor: DEMO_BY.actor, nowMs: 0, config: { rating: { timeZone: 'UTC' } } },
    intake: async () => ({
      charge: () => Promise.reject(error),
      resubmit: () => Promise.reject(error),
    }),
  }) as unknown as MoneyCall

const charge = (error: Error) =>
  lines.call(
    new Map<string, unknown>([
      ['file_type', 'calls'],
      ['records', ['x']],
    ]),
    failing(error),
  )
const resubmit = (error: Error) => linesresubmit.call(new Map([['id', 'a:1']]), failing(error))

it('names the parameter because of which the file type is unknown', async () => {
  const error = new RecordFileTypeError('there is no file type calls')
  const { message } = error
  await expect(charge(error)).rejects.toMatchObject({
    ...{ message, issues: [{ path: 'file_type', code: 'unknown' }] },
  })
  await expect(resubmit(error)).rejects.toMatchObject({
    ...{ message, issues: [{ path: 'id', code: 'refused' }] },
  })
})

it('says why records are not charged now', async () => {
  const error = new RecordsPostponedError('the recorder lags behind')
  const message = 'not all records were charged, repeat the request: the recorder lags behind'
  await expect(charge(error)).rejects.toMatchObject({ httpStatus: 503, message })
  await expect(resubmit(error)).rejects.toMatchObject({ httpStatus: 503, message })
})
