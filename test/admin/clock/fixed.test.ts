/** A clock that started at another time, but is not a test clock: it cannot be moved. */
import { expect, it } from 'vitest'
import { START_MS, useClockServer } from '../../support/admin/clock-server.ts'

const world = useClockServer({ TOLLGATE_CLOCK_TEST: 'false' })

it('is shown, and refuses to be moved', async () => {
  expect((await world.get()).details).toMatchObject({ test: false })
  const before = (await world.get()).details['ahead_ms']
  const to = new Date(START_MS + 86_400_000).toISOString()
  expect(await world.post({ to })).toMatchObject({
    http: 403,
    status: 0,
    message: 'clock.test is false: the clock cannot be moved',
  })
  expect((await world.get()).details['ahead_ms']).toBe(before)
})
