/** The page of events in a browser, as an operator uses it. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits()

async function storeEvents(code: string, states: readonly string[]): Promise<void> {
  const { catalog, aid, sid } = visits.scene()
  const made = states.map((state, index) => ({
    stamp: `${code}-${index}`,
    event_code: code,
    event_type: 'balance',
    event_description: 'a test',
    creation_time: new Date(Date.parse('2026-05-05T10:00:00Z') + index),
    before: '-100',
    after: '-20.5',
    based_on: 'monetary',
    reached_constant: '-50',
    extra_params: { aid, sid, row: { usaget: 'call', usagev: 60 } },
    conditions: [{ type: 'reached_constant', value: '-50', path: 'balance.cost' }],
    matched_path: 'balance.cost',
    related_entities: [],
    receiver: {},
    delivery: { state, attempts: 10, error: 'timeout', due: new Date('2099-01-01') },
  }))
  await catalog.events.insertMany(made as never)
}

const rows = (page: Page) => {
  const list = page.getByRole('group', { name: 'Stored events, newest first' }).first()
  return list.locator('tbody tr')
}
const rules = async () => {
  const config = await visits.scene().catalog.config.findOne({ _id: 'events' } as object)
  return (config as { value?: { balance?: unknown } } | null)?.value?.balance
}
const attempts = async (stamp: string) => {
  const event = await visits.scene().catalog.events.findOne({ stamp } as object)
  return (event as { delivery?: { attempts?: number } } | null)?.delivery?.attempts
}

describe.skipIf(CHROMIUM === undefined)('events', () => {
  it('are filtered, opened and sent again, one or those that are selected', async () => {
    await storeEvents('LOW_MONEY', ['dead', 'dead', 'delivered', 'dead'])
    const page = await visits.visit({ hash: '#/events' })
    await page.getByLabel('Code').fill('LOW_MONEY')
    await page.getByLabel('Delivery').selectOption('dead')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => rows(page).count()).toBe(3)
    expect(page.url()).toContain('code=LOW_MONEY&state=dead')
    await rows(page).first().getByRole('link', { name: 'LOW_MONEY' }).click()
    const details = page.getByRole('dialog', { name: 'Event' })
    await details.getByRole('row', { name: 'delivery.error timeout' }).waitFor()
    await details.getByRole('row', { name: 'conditions.0.path balance.cost' }).waitFor()
    await expectAccessible(page)
    await details.getByRole('button', { name: 'Send again…' }).click()
    await page.getByRole('dialog', { name: 'Send 1 events again' }).getByText('LOW_MONEY').waitFor()
    await page.getByRole('button', { name: 'Send 1 again' }).click()
    await expect.poll(() => attempts('LOW_MONEY-3')).toBe(0)
    await details.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByLabel('Delivery').selectOption('dead')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => rows(page).count()).toBe(2)
    await page.getByRole('button', { name: 'Select all of this page' }).click()
    await page.getByRole('button', { name: 'Send 2 selected again…' }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await attempts('LOW_MONEY-0')).toBe(10)
    await page.getByRole('button', { name: 'Send 2 selected again…' }).click()
    await page.getByRole('button', { name: 'Send 2 again' }).click()
    await page.getByText('No event is stored that matches.').waitFor()
    expect([await attempts('LOW_MONEY-0'), await attempts('LOW_MONEY-1')]).toEqual([0, 0])
  })

  it('come from rules, which are added, switched and removed', async () => {
    const page = await visits.visit({ hash: '#/events?tab=rules' })
    await page.getByRole('button', { name: 'Add a rule of balances' }).click()
    const json = page.getByLabel('Rule as JSON')
    const rule = {
      event_code: 'HALF',
      conditions: [{ type: 'reached_constant', value: '-5', paths: [{ path: 'balance.cost' }] }],
    }
    await json.fill(JSON.stringify({ ...rule, conditions: [] }))
    await page.getByText('balance.0.conditions').waitFor()
    await expectAccessible(page)
    await json.fill(JSON.stringify(rule))
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(rules).toEqual([rule])
    const row = page.getByRole('row').filter({ hasText: 'HALF' })
    await row.getByRole('button', { name: 'Switch off…' }).click()
    await page.getByRole('dialog', { name: 'Switch rule HALF off' }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Switch off…' }).click()
    await expect.poll(rules).toEqual([{ ...rule, active: false }])
    await row.getByRole('button', { name: 'Switch on…' }).waitFor()
    await expectAccessible(page)
    await row.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove…' }).click()
    await expect.poll(rules).toEqual([])
  })

  it('are sent again by keyboard alone', async () => {
    await storeEvents('KEYS', ['dead'])
    const page = await visits.visit({ hash: '#/overview' })
    await page.getByText(/Redis/).first().waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await page.getByLabel('Code').focus()
    await page.keyboard.insertText('KEYS')
    await page.keyboard.press('Enter')
    await expect.poll(() => rows(page).count()).toBe(1)
    await page.getByRole('group', { name: 'Stored events, newest first' }).first().focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Event' }).waitFor()
    await page.getByRole('button', { name: 'Send again…' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Send 1 again' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => attempts('KEYS-0')).toBe(0)
  })
})
