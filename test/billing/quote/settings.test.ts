import { expect, it } from 'vitest'
import { STANDARD, settingsOf } from '../../../src/billing/quote/settings.ts'
import { loadConfig } from '../../../src/config/load.ts'

it('quote defaults are the values of config/default.yaml', () => {
  const { rating } = loadConfig({ env: {} })
  const plain = (settings: typeof STANDARD) => ({
    ...settings,
    cycleAt: settings.cycleAt(Date.UTC(2026, 4, 5), Date.UTC(2026, 4, 5)),
    calculators: [...settings.calculators.categories],
    isFreeNumber: settings.isFreeNumber('112'),
  })
  expect(plain(STANDARD)).toEqual(plain(settingsOf(rating)))
})
