import { describe, expect, it } from 'vitest'
import { useTollgate } from '../support/cli/tollgate.ts'

const tollgate = useTollgate()

const COLOUR = { field_name: 'colour', type: 'text' }
const settings = (...args: string[]) => tollgate.run('settings', ...args)
const set = (category: string, value: unknown, ...more: string[]) =>
  tollgate.pipe(JSON.stringify(value), 'settings', 'set', category, '-', ...more)

const revOf = (stdout: string) => /rev (\d+)$/m.exec(stdout)?.[1] ?? ''

describe('tollgate settings', () => {
  it('stores, shows, reverts and restores settings, and shows who changed them', async () => {
    const first = await set('rates.fields', [COLOUR])
    expect([first.code, first.stderr]).toEqual([0, ''])
    expect(first.stdout).toMatch(/^set rates\.fields: rev \d+\n- field_name: colour\n/)
    const shown = await settings('get', 'rates.fields.colour.type')
    expect(shown.stdout).toMatch(/^text\n# effective, with defaults:\n# {3}text\n$/)
    const json = JSON.parse((await settings('get', 'rates', '--json')).stdout)
    expect(json).toMatchObject({ details: { fields: [COLOUR] }, rev: Number(revOf(first.stdout)) })
    const unset = await settings('unset', 'rates.fields.colour')
    expect([unset.code, unset.stdout]).toEqual([0, expect.stringMatching(/^unset .*: rev \d+\n$/)])
    const back = await settings('restore', 'rates', revOf(first.stdout))
    expect(back.stdout).toContain(`restored rates as it was at rev ${revOf(first.stdout)}`)
    const history = await settings('history', 'rates')
    expect(history.stdout.trim().split('\n')).toHaveLength(4)
    expect(history.stdout).toMatch(/rev .*\n *\d+ +holds +\d{4}-\S+Z +cli +cli/)
    const { user, type, key } = (await tollgate.catalog().audit.findOne({})) ?? {}
    expect([type, key, user]).toEqual(['set', 'rates', expect.objectContaining({ by: 'cli' })])
  })

  it('accepts YAML, and requires the expected revision for a change', async () => {
    const file = tollgate.file('security.yaml', 'session:\n  idle_minutes: 20\n')
    const { stdout } = await settings('set', 'security', file, '--rev', '0')
    expect(stdout).toContain('idle_minutes: 20')
    const late = await settings('set', 'security', file, '--rev', '0')
    expect([late.code, late.stdout]).toEqual([1, ''])
    expect(late.stderr).toMatch(/^tollgate: security was changed by others: it is at rev \d+, not/)
  })

  it('names invalid settings, and writes nothing', async () => {
    const refused = [
      await set('security', { session: { idle_minutes: 'x' } }),
      await set('securty', {}),
      await settings('restore', 'rates', 'x'),
    ]
    expect(refused.map(({ code, stderr }) => [code, stderr])).toEqual([
      [1, expect.stringContaining('security.session.idle_minutes must be an integer from 1')],
      [1, "tollgate: there is no category 'securty': did you mean 'security'?\n"],
      [2, expect.stringContaining('REV must be an integer')],
    ])
    expect(await tollgate.catalog().config.countDocuments()).toBe(0)
  })

  it('lists all settings', async () => {
    const { stdout } = await settings('list')
    expect(stdout).toMatch(/taxation +yes +Tax for rates/)
    expect(stdout).toMatch(/billrun +yes +The billing cycle/)
    expect(stdout).toMatch(/timezone +no +Time zone/)
  })
})
