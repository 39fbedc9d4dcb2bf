/** The page of file types in browser tests: documents, a message, and the check of one. */
import type { Page } from 'playwright-core'
import { CHROMIUM } from './browser.ts'
import type { Visits } from './visits.ts'

export const ACME = {
  file_type: 'ACME',
  parser: { type: 'key_value', pair_separator: ';', value_separator: ':' },
  processor: {
    date_field: 'at',
    usaget_mapping: [
      { src_field: 'svc', pattern: 'net', usaget: 'data', volume_src: 'want' },
      { usaget: 'roaming', volume_src: 'want' },
    ],
  },
  realtime: {
    request_type_field: 'op',
    request_types: { O: 'start_request', U: 'update_request', C: 'release_request' },
    session_id_fields: 'call',
    used_usagev_field: 'used',
    subscriber_fields: { msisdn: 'user' },
  },
  response: {
    encode: 'json',
    fields: [
      { response_field_name: 'code', row_field_name: 'return_code' },
      { response_field_name: 'quota', row_field_name: 'granted_volume' },
      { response_field_name: 'name', row_field_name: 'uf.name' },
    ],
  },
}
export const GY = { ...ACME, file_type: 'GY', parser: { type: 'json' } }
export const START = 'op:O;call:c-1;svc:net;want:1048576;user:447700900123'

/** Replaces the stored file types. */
export async function installFileTypes(visits: Visits, value: readonly object[]): Promise<void> {
  if (CHROMIUM === undefined) return
  const { config } = visits.scene().catalog
  const stored = { rev: 1, value, changed: new Date(0), changed_by: 'test' }
  await config.replaceOne({ _id: 'file_types' }, stored as never, { upsert: true })
}

export const messageOf = (page: Page) => page.getByRole('textbox', { name: 'Message' })
export const stages = (page: Page) => page.locator('.stage h3')
export const stage = (page: Page, name: string) => page.getByRole('listitem', { name })

/** Pastes and checks; resolves with the states of the stages. */
export async function check(page: Page, message: string): Promise<readonly string[]> {
  await messageOf(page).fill(message)
  const answered = page.waitForResponse((response) => response.url().endsWith('/filetype/check'))
  await page.keyboard.press('Control+Enter')
  await answered
  await page.getByText('The message or the file type has changed').waitFor({ state: 'detached' })
  await stages(page).last().waitFor()
  return stages(page).locator('.word').allTextContents()
}
