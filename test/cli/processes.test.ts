/**
 * Each command as a process: it ends by itself, with its exit code, and its result is on standard
 * output. Only a process shows that nothing which the command opened keeps it running. Arguments,
 * texts and results are tested in process, in the file of the command.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { settingsOf } from '../support/cli/tollgate.ts'
import { beginProcess, runProcess } from '../support/product/run-command.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'

const folder = mkdtempSync(join(tmpdir(), 'tg-processes-'))
let stores: TestStores

beforeAll(async () => {
  stores = await startTestStores()
  writeFileSync(join(folder, 'accounts.csv'), 'firstname\nAda\n')
})
afterAll(async () => {
  await stores?.close()
  rmSync(folder, { recursive: true, force: true })
})

const environment = () => ({ ...settingsOf(stores), TOLLGATE_DATA_DIR: folder })

/** Runs as long as the product, in start.test.ts and in test/system. */
const LASTING = ['start', 'realtime', 'admin', 'recorder', 'sources']

type Row = readonly [command: string, more: string, code: number, output: RegExp, input?: string]

const FIELD = JSON.stringify({ field_name: 'floor', type: 'text' })
const FILE_TYPE = JSON.stringify({
  file_type: 'MINE',
  parser: { type: 'json' },
  processor: { usaget_mapping: [{ usaget: 'data', volume_src: ['asked'] }] },
  realtime: { used_usagev_field: 'used' },
})
const BATCH = '--batch 7 --count 1 --plan NONE --provider A --to 2100-01-01'
const PAST = '202601'
const TODAY = new Date().toISOString()
const ERROR = /^tollgate: [^\n]+\n$/

/** In order: later rows use what earlier ones have made. */
const ROWS: readonly Row[] = [
  ['help', '', 0, /^Usage: tollgate COMMAND/],
  ['version', '', 0, /^\d+\.\d+\.\d+\n$/],
  ['seed demo', '', 0, /./],
  ['check', '', 0, /./],
  ['clock', '', 0, /./],
  ['balance show', '--sid 1001', 0, /^subscriber 1001/],
  ['balance add', '--sid 1002 --include 1 --amount 1', 0, /^subscriber 1002, include 1/],
  ['session list', '--sid 1001', 0, /./],
  ['session release', 'none', 1, ERROR],
  ['quote', '--cases -', 1, /./, '{}\n'],
  ['audit', '--records', 0, /./],
  ['ledger rebuild', '', 1, ERROR],
  ['filetype set', '-', 0, /^created MINE/, FILE_TYPE],
  ['filetype list', '', 0, /./],
  ['filetype show', 'MINE', 0, /file_type: MINE/],
  ['filetype remove', 'MINE', 0, /^/],
  ['filetype check', '- --samples', 0, /./, FILE_TYPE],
  ['intake', 'none.csv --file-type NONE', 1, ERROR],
  ['rejected list', '', 0, /^/],
  ['rejected resubmit', 'none', 1, ERROR],
  ['rejected drop', 'none', 1, ERROR],
  ['rerate', `--from ${TODAY} --dry-run`, 0, /^0 of 0 lines would change/],
  ['lines export', '', 1, ERROR],
  ['lines status', '', 0, /^ +files +0$/m],
  ['tariff list', '', 0, /^/],
  ['tariff prepare', '-', 1, ERROR, '{}'],
  ['tariff check', 'none', 1, ERROR],
  ['tariff schedule', 'none', 1, ERROR],
  ['tariff cancel', 'none', 1, ERROR],
  ['tariff rollback', 'none', 1, ERROR],
  ['diameter send', '--ccr - --host 127.0.0.1 --port 1', 1, ERROR, '{}'],
  ['peer add', 'pgw', 0, /tgk_/],
  ['peer list', '', 0, /pgw/],
  ['peer rotate', 'pgw', 0, /tgk_/],
  ['peer remove', 'pgw', 0, /^/],
  ['field set', 'accounts -', 0, /^/, FIELD],
  ['field list', 'accounts', 0, /floor/],
  ['field remove', 'accounts floor', 0, /^/],
  ['import', `accounts ${join(folder, 'accounts.csv')} --dry-run`, 1, /^0 of 1 rows would/],
  ['export', 'rates', 0, /./],
  ['user add', 'ops@example.org --role admin', 0, /./],
  ['user list', '', 0, /ops@example\.org/],
  ['user password', 'ops@example.org --password-stdin', 0, /^/, 'correct horse battery'],
  ['user unlock', 'ops@example.org', 0, /^/],
  ['user reset-totp', 'ops@example.org', 1, ERROR],
  ['user remove', 'nobody@example.org', 1, ERROR],
  ['client add', 'shop', 0, /[0-9a-f]{32}/],
  ['client list', '', 0, /shop/],
  ['client rotate', 'shop', 0, /[0-9a-f]{32}/],
  ['client revoke', 'shop', 0, /^/],
  ['secrets status', '', 0, /./],
  ['secrets reseal', '', 0, /./],
  ['settings list', '', 0, /./],
  ['settings set', 'events -', 0, /^/, '{}'],
  ['settings get', 'events', 0, /./],
  ['settings history', 'events', 0, /./],
  ['settings restore', 'events 99', 1, ERROR],
  ['settings unset', 'events', 0, /^/],
  ['job list', '', 0, /./],
  ['erase', '--sid 77', 1, ERROR],
  ['charge', '', 0, /./],
  ['external check', '--aid 1 --sid 1', 1, /./],
  ['event list', '', 0, /./],
  ['event resend', 'none', 1, ERROR],
  ['event test', 'NONE --sid 1001 --usaget data --usagev 1', 1, ERROR],
  ['card create', `${BATCH} --output ${join(folder, 'cards.csv')}`, 1, ERROR],
  ['card list', '--batch 7', 0, /./],
  ['card update', '--batch 7 --status Stolen', 1, ERROR],
  ['card delete', '--batch 7', 1, ERROR],
  ['autorenew run', '', 0, /^charged 0 due dates/],
  ['cycle run', `--key ${PAST} --threads 1`, 0, /./],
  ['cycle status', `--key ${PAST}`, 0, /./],
  ['cycle preview', `--key ${PAST}`, 0, /./],
  ['cycle parked', `--key ${PAST}`, 0, /./],
  ['cycle confirm', `--key ${PAST}`, 0, /./],
  ['cycle reset', `--key ${PAST}`, 1, ERROR],
  ['stop', '', 0, /^tollgate is not running in /],
]

describe('as a process', () => {
  for (const [command, more, code, output, input = ''] of ROWS) {
    it(`${command} ${more} ends with ${code}`, async () => {
      const args = [...command.split(' '), ...more.split(' ').filter((each) => each !== '')]
      const ended = await runProcess(args, environment(), input)
      expect(ended).toMatchObject({
        code,
        [output === ERROR ? 'stderr' : 'stdout']: expect.stringMatching(output),
      })
    })
  }

  it('every command has a row', () => {
    const ran = ROWS.map(([command]) => command)
    expect([...ran, ...LASTING].sort()).toEqual(COMMANDS.map(({ name }) => name).sort())
  })
})

it('the output is closed by its reader, as with head: the command ends', async () => {
  const file = join(folder, 'cases.jsonl')
  writeFileSync(file, '{}\n'.repeat(100_000))
  const { child, ended } = beginProcess(['quote', '--cases', file], environment())
  child.stdout?.once('data', () => child.stdout?.destroy())
  expect(await ended).toMatchObject({ code: 1, stderr: '' })
})

it.each([
  ['help', 1],
  ['quote --help', 1],
  ['seed demo', 0],
])('%s ends quietly without a reader of its output', async (command, code) => {
  const { child, ended } = beginProcess(command.split(' '), environment())
  child.stdout?.destroy()
  expect(await ended).toMatchObject({ code, stderr: '' })
})
