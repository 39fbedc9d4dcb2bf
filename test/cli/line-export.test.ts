/** `tollgate lines export` and `lines status`: files of lines in a place of the settings. */
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { ObjectId } from 'mongodb'
import { beforeAll, expect, it } from 'vitest'
import { useTollgate } from '../support/cli/tollgate.ts'
import { useFolder } from '../support/opened.ts'

const folder = join(useFolder())
const environment: Record<string, string> = {
  TOLLGATE_EXPORT_EVERY_MINUTES: '60',
  TOLLGATE_EXPORT_PLACE: 'out',
  TOLLGATE_TRANSFER_PLACES: JSON.stringify({ out: { url: `file://${folder}` } }),
}
const tollgate = useTollgate(environment)

const HEADER =
  'stamp,v,type,state,aid,sid,urt,last_urt,usaget,usagev,arate_key,plan,billrun,' +
  'exact.aprice,exact.tax,exact.final_charge,aprice,final_charge,session_id,origin,' +
  'rating_group,called_number'

const YESTERDAY_SECONDS = Math.floor(Date.now() / 1000) - 86_400

async function insert(stamp: string): Promise<void> {
  const _id = ObjectId.createFromTime(YESTERDAY_SECONDS)
  await tollgate.catalog().lines.insertOne({ _id, stamp, type: 'credit', aprice: 2.5 } as never)
}

beforeAll(() => insert('s1'))

it('writes what was not exported yet', async () => {
  const done = await tollgate.run('lines', 'export')
  expect(done).toMatchObject({ code: 0, stdout: '1 files with 1 lines\n' })
  const file = 'lines-000000001.csv'
  expect(readdirSync(folder).sort()).toEqual([file, `${file}.manifest.json`])
  expect(readFileSync(join(folder, file), 'utf8')).toBe(
    `${HEADER}\r\ns1,,credit,,,,,,,,,,,,,,2.5,,,,,\r\n`,
  )
  const again = await tollgate.run('lines', 'export', '--json')
  expect(JSON.parse(again.stdout)).toEqual({ files: 0, lines: 0, error: '' })
})

it('shows how far it has come', async () => {
  const { stdout } = await tollgate.run('lines', 'status', '--json')
  const { until, due, ...status } = JSON.parse(stdout)
  const kafka = { waiting: 0, state: 'off', due: null, error: '' }
  expect(status).toEqual({ files: 1, waiting: 0, state: 'waiting', error: '', kafka })
  expect(Date.parse(until) / 1000).toBeGreaterThan(YESTERDAY_SECONDS)
  expect(Date.parse(due) % 3_600_000).toBe(0)
})

it('leaves the lines to the process that exports them', async () => {
  const { jobs } = tollgate.catalog()
  const held = { state: 'running', expires: new Date('2100-01-01'), holder: null } as const
  await jobs.updateOne({ kind: 'export' }, { $set: held })
  const { code, stderr } = await tollgate.run('lines', 'export')
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'tollgate: another process exports lines now\n',
  })
  await jobs.updateOne({ kind: 'export' }, { $set: { state: 'waiting' } })
})

it('names the reason if the place is away, and writes the file later', async () => {
  await tollgate.catalog().exports.updateOne({}, { $set: { after: new ObjectId('0'.repeat(24)) } })
  renameSync(folder, `${folder}-away`)
  const failed = await tollgate.run('lines', 'export')
  renameSync(`${folder}-away`, folder)
  expect(failed.code).toBe(1)
  expect(failed.stdout).toMatch(/^the export failed: .*lines-000000002\.csv/)
  expect((await tollgate.run('lines', 'status')).stdout).toMatch(/^ *error +\S.*lines-000000002/m)
  expect((await tollgate.run('lines', 'export')).stdout).toBe('1 files with 1 lines\n')
})

it('shows why an export that cannot succeed has ended', async () => {
  environment['TOLLGATE_EXPORT_FIELDS'] = 'stamp,nothing'
  const error = 'export.fields: nothing is not a field of lines'
  const failed = await tollgate.run('lines', 'export')
  expect(failed).toMatchObject({ code: 1, stdout: `the export failed: ${error}\n` })
  const { stdout } = await tollgate.run('lines', 'status', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ state: 'failed', due: null, error })
})
