/** Settings of the clock. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { problemsOf } from '../support/config/files.ts'

describe('the clock', () => {
  it('starts by TOLLGATE_CLOCK; a time that cannot be read is refused', () => {
    const env = { TOLLGATE_CLOCK: '2026-01-31T12:00:00+01:00' }
    expect(loadConfig({ env }).clock).toEqual({ start: env.TOLLGATE_CLOCK, test: false })
    const expects = 'must be a time in ISO 8601, as in 2026-01-31T12:00:00Z, or empty'
    for (const start of ['2026-01-31', '2026-02-30T12:00:00Z', 'now']) {
      expect(problemsOf({ env: { TOLLGATE_CLOCK: start } }).problems).toEqual([
        { key: 'clock.start', source: 'TOLLGATE_CLOCK', reason: `${expects}, not '${start}'` },
      ])
    }
  })

  it('is refused as a test clock beside settings of production', () => {
    const test = { TOLLGATE_CLOCK_TEST: 'true' }
    const because = 'because clock.test (TOLLGATE_CLOCK_TEST) is true, which is for tests only'
    const open = { ...test, TOLLGATE_ADMIN_HOST: '0.0.0.0' }
    expect(problemsOf({ env: open }).problems).toEqual([
      {
        key: 'admin.host',
        source: 'TOLLGATE_ADMIN_HOST',
        reason: `must be an address of this machine, ${because}`,
      },
    ])
    const syslog = { ...test, TOLLGATE_AUDIT_SYSLOG_HOST: 'logs.example.net' }
    expect(problemsOf({ env: syslog }).problems).toEqual([
      {
        key: 'audit.syslog.host',
        source: 'TOLLGATE_AUDIT_SYSLOG_HOST',
        reason: `must be empty or an address of this machine, ${because}`,
      },
    ])
    const own = { ...test, TOLLGATE_AUDIT_SYSLOG_HOST: 'localhost' }
    expect(loadConfig({ env: own }).clock.test).toBe(true)
    expect(loadConfig({ env: { TOLLGATE_ADMIN_HOST: '0.0.0.0' } }).clock.test).toBe(false)
  })
})
