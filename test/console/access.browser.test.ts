/** Users, clients and permissions in a browser, as an administrator manages them. */
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { ADMIN_NAME, PASSWORD, READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits()

const setting = async (category: string) => {
  const config = await visits.scene().catalog.config.findOne({ _id: category } as object)
  return (config as { value?: unknown } | null)?.value
}
const rolesOf = async (username: string) => {
  const user = await visits.scene().catalog.users.findOne({ username } as object)
  return (user as { roles?: unknown } | null)?.roles
}

describe.skipIf(CHROMIUM === undefined)('users', () => {
  it('are created, changed and deleted; the last administrator stays', async () => {
    const name = 'new@example.org'
    const page = await visits.visit({ hash: '#/access' })
    await page.getByRole('button', { name: 'New user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('User name').fill(name)
    await dialog.getByLabel('Password').fill('short')
    await dialog.getByLabel('read', { exact: true }).check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('password must have 12 to 256 characters').first().waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('Password').fill('another long sentence')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await rolesOf(name)).toEqual(['read'])
    const row = page.getByRole('row').filter({ hasText: name })
    await row.getByText('must be changed').waitFor()
    await page.keyboard.press('x')
    expect(await page.getByRole('dialog').textContent()).not.toContain('another long sentence')
    await page.keyboard.press('Escape')
    await row.getByRole('button', { name: 'Change…' }).click()
    await dialog.getByLabel('write', { exact: true }).check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => rolesOf(name)).toEqual(['read', 'write'])
    await row.getByRole('button', { name: 'Reset second factor…' }).click()
    await dialog.getByRole('button', { name: 'Reset second factor…' }).click()
    await dialog.getByText('Refused').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await row.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog', { name: `Delete user ${name}` }).waitFor()
    await dialog.getByRole('button', { name: 'Delete…' }).click()
    await row.waitFor({ state: 'detached' })
    const own = page.getByRole('row').filter({ hasText: ADMIN_NAME })
    await own.getByRole('button', { name: 'Change…' }).click()
    await dialog.getByLabel('admin', { exact: true }).uncheck()
    await dialog.getByLabel('read', { exact: true }).check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('is the last one with role admin').waitFor()
    expect(await rolesOf(ADMIN_NAME)).toEqual(['admin'])
  })

  it('are created by keyboard alone', async () => {
    const page = await visits.visit({ hash: '#/overview' })
    await page.getByText(/Redis/).first().waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('u')
    await page.getByRole('button', { name: 'New user' }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('User name').focus()
    await page.keyboard.insertText('keys@example.org')
    await page.keyboard.press('Tab')
    await page.keyboard.insertText(PASSWORD)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.keyboard.press('Control+Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(await rolesOf('keys@example.org')).toEqual(['read'])
  })
})

describe.skipIf(CHROMIUM === undefined)('clients', () => {
  it('get a secret, which is shown once, and are changed and removed', async () => {
    const page = await visits.visit({ hash: '#/access?tab=clients' })
    await page.getByRole('button', { name: 'New client' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name of the client').fill('crm')
    await dialog.getByLabel('read', { exact: true }).check()
    await dialog.getByLabel('Expires').fill('2099-01-31')
    await dialog.getByRole('button', { name: 'Save' }).click()
    const shown = page.getByRole('dialog', { name: 'Secret of crm' })
    const secret = (await shown.locator('.id').textContent()) ?? ''
    expect(secret).toMatch(/^[0-9a-f]{32}$/)
    await expectAccessible(page)
    await shown.getByRole('button', { name: 'Close' }).click()
    const row = page.getByRole('row').filter({ hasText: 'crm' })
    await row.getByText('tokens and signatures').waitFor()
    expect(await page.content()).not.toContain(secret)
    await row.getByRole('button', { name: 'Change…' }).click()
    await dialog.getByLabel('State').selectOption('disabled')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('disabled').waitFor()
    expect(await setting('shared_secret')).toMatchObject([
      { name: 'crm', roles: ['read'], disabled: true },
    ])
    await row.getByRole('button', { name: 'Remove…' }).click()
    await dialog.getByRole('button', { name: 'Remove…' }).click()
    await page.getByText('There is no client.').waitFor()
  })
})

describe.skipIf(CHROMIUM === undefined)('permissions', () => {
  it('become rules, shown before they are saved, merged with those of others', async () => {
    const page = await visits.visit({ hash: '#/access?tab=permissions&of=plans' })
    await page.getByLabel('Further role').fill('support')
    await page.getByRole('button', { name: 'Add a column' }).click()
    await page.getByLabel('support may do plans/get').check()
    await page.getByLabel('write may do plans/create').uncheck()
    const roles = (action: string, ...named: string[]) => {
      return { collection: 'plans', actions: [action], roles: named }
    }
    await page.getByRole('row', { name: 'plans/get default read, support' }).waitFor()
    await expectAccessible(page)
    const theirs = roles('get', 'reports')
    const data = { rules: [theirs] }
    await visits.scene().api('api/settings', { action: 'set', category: 'permissions', data })
    await page.getByRole('button', { name: 'Save the rules' }).click()
    await page.getByText(`${ADMIN_NAME} has saved this revision meanwhile.`).waitFor()
    expect(await setting('permissions')).toEqual(data)
    await page.getByLabel('Yours: read, support').check()
    await page.getByRole('button', { name: 'Save the rules' }).click()
    const row = page.getByRole('row').filter({ has: page.getByText('get', { exact: true }) })
    const saved = [roles('get', 'read', 'support'), roles('create', 'admin')]
    await expect.poll(() => setting('permissions')).toEqual({ rules: saved })
    // The button has another name while it saves; edits are possible again after that.
    await page.getByText('Changes of the rules').waitFor({ state: 'detached' })
    await row.getByText('rule 1').waitFor()
    await row.getByRole('button', { name: 'Default again' }).click()
    await page.getByRole('button', { name: 'Save the rules' }).click()
    await expect.poll(() => setting('permissions')).toEqual({ rules: [roles('create', 'admin')] })
    await row.getByText('default').waitFor()
    expect(await page.getByLabel('read may do plans/get').isChecked()).toBe(true)
    expect(await page.getByLabel('admin may do plans/get').isDisabled()).toBe(true)
  })

  it('are shown to all, with the reason why they cannot be changed', async () => {
    const page = await visits.visit({ user: READER_NAME, hash: '#/access?tab=permissions' })
    const box = page.getByLabel('read may do accounts/get')
    await box.waitFor()
    expect(await box.isDisabled()).toBe(true)
    await page.getByText('This needs one of the roles admin; you have: read.').first().waitFor()
    await expectAccessible(page)
  })
})
