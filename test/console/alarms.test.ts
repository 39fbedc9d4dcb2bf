import { expect, it } from 'vitest'
import { OVERVIEW as DE } from '../../packages/console/src/words/de/overview.ts'
import { OVERVIEW as EN } from '../../packages/console/src/words/en/overview.ts'
import { ALARM_TEXTS } from '../../src/admin/live/alarms.ts'

it('the console has each alarm of the API, in English as the API says it', () => {
  const alarms = Object.entries(EN).filter(([key]) => key.startsWith('alarm.'))
  const texts = Object.entries(ALARM_TEXTS).map(([name, text]) => [`alarm.${name}`, text])
  expect(Object.fromEntries(alarms)).toEqual(Object.fromEntries(texts))
  expect(Object.keys(DE)).toEqual(Object.keys(EN))
})
