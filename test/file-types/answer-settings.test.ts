import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { answerSettingsOf } from '../../src/file-types/defaults.ts'

const settingsOf = (env: Record<string, string>) => answerSettingsOf(loadConfig({ env }))

describe('answer settings from the configuration', () => {
  it('terminate the service with the last unit by default, and contain nothing more', () => {
    expect(settingsOf({})).toMatchObject({
      quotaHoldingMs: 0,
      thresholdPercent: 0,
      finalUnit: { action: 'terminate' },
      returnCodes: { granted: 1, noCredit: -1, timedOut: -92 },
    })
  })

  it('contain a quota holding time and a threshold', () => {
    const env = {
      TOLLGATE_SESSION_QUOTA_HOLDING_MS: '600000',
      TOLLGATE_SESSION_QUOTA_THRESHOLD_PERCENT: '20',
    }
    expect(settingsOf(env)).toMatchObject({ quotaHoldingMs: 600_000, thresholdPercent: 20 })
  })

  it.each([
    [{ TOLLGATE_SESSION_FINAL_UNIT_ACTION: 'none' }, { action: 'none' }],
    [
      {
        TOLLGATE_SESSION_FINAL_UNIT_ACTION: 'redirect',
        TOLLGATE_SESSION_REDIRECT_ADDRESS: '10.0.0.1',
        TOLLGATE_SESSION_REDIRECT_ADDRESS_TYPE: 'ipv4',
      },
      { action: 'redirect', addressType: 'ipv4', address: '10.0.0.1' },
    ],
    [
      {
        TOLLGATE_SESSION_FINAL_UNIT_ACTION: 'restrict',
        TOLLGATE_SESSION_RESTRICTION_FILTERS: 'permit in ip from any to 10.0.0.1, shop',
      },
      { action: 'restrict', filters: ['permit in ip from any to 10.0.0.1', 'shop'] },
    ],
  ])('%j', (env, finalUnit) => expect(settingsOf(env).finalUnit).toEqual(finalUnit))
})
