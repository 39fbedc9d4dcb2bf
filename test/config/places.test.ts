/** Places and sources that cannot be used are refused by name when the configuration is loaded. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'

const HOST_KEY = `SHA256:${'A'.repeat(43)}`
const SFTP = { url: 'sftp://me@host/in', hostKey: HOST_KEY, secret: 'one' }
const PLACES = { spool: { url: 'file:///srv/spool' } }
const SOURCE = { place: 'spool', fileType: 'CALLS' }

const load =
  (places: object, sources: object = {}) =>
  () =>
    loadConfig({
      env: {
        TOLLGATE_TRANSFER_PLACES: JSON.stringify(places),
        TOLLGATE_TRANSFER_SECRETS: '{"one": "hidden"}',
        TOLLGATE_INTAKE_SOURCES: JSON.stringify(sources),
      },
    })

describe('a place', () => {
  it.each([
    [{ url: 'ftp://host/' }, '.url must be file:///'],
    [{ ...SFTP, url: 'sftp://me:hidden@host/in' }, '.url must have no password'],
    [{ ...SFTP, hostKey: 'SHA256:short' }, '.hostKey is wrong: '],
    [{ url: SFTP.url, secret: 'one' }, '.hostKey is wrong: '],
    [{ ...SFTP, url: 'sftp://host/in' }, '.url must be sftp://user@host/path'],
    [{ ...SFTP, secret: 'two' }, '.secret names none of transfer.secrets'],
    [{ ...SFTP, shell: '/bin/sh' }, '.shell is wrong: '],
    [{ url: 'file://host/path' }, '.url must be file:///path'],
    [{ url: 'file:///a%zz' }, '.url has a % that encodes nothing'],
    [{ url: 's3://bucket/' }, '.endpoint is wrong: '],
    [{}, '.url must be file:///'],
  ])('%o is refused', (place, reason) => {
    expect(load({ here: place })).toThrow(`transfer.places.here${reason}`)
    expect(load({ here: place })).toThrow('(TOLLGATE_TRANSFER_PLACES)')
    expect(load({ here: place })).not.toThrow('hidden')
  })

  it('may be used', () => {
    expect(load({ ...PLACES, partner: SFTP }, { calls: SOURCE })).not.toThrow()
  })
})

describe('a source', () => {
  it.each([
    [{ place: 'spool' }, '.fileType is wrong: '],
    [{ ...SOURCE, folders: 'x' }, '.folders is wrong: '],
    [{ ...SOURCE, stableMs: -1 }, '.stableMs is wrong: '],
    [{ ...SOURCE, stableMs: 1, marker: '.ok' }, ' has marker and stableMs'],
    [{ ...SOURCE, place: 'other' }, '.place names none of transfer.places'],
    [{}, '.place is wrong: '],
  ])('%o is refused', (source, reason) => {
    expect(load(PLACES, { here: source })).toThrow(`intake.sources.here${reason}`)
    expect(load(PLACES, { here: source })).toThrow('(TOLLGATE_INTAKE_SOURCES)')
  })

  it('has a name that can be that of a folder', () => {
    expect(load(PLACES, { '../x': SOURCE })).toThrow('intake.sources.../x must be a name of')
  })

  it('is refused with all others that are wrong', () => {
    const wrong = load({ here: {} }, { there: {} })
    expect(wrong).toThrow('transfer.places.here')
    expect(wrong).toThrow('intake.sources.there')
  })
})

describe('secrets', () => {
  it.each(['{"partner": "hidden"', '["hidden"]', '{"partner": {"key": "hidden"}}'])(
    'are not shown if they are no secrets: %s',
    (secrets) => {
      const wrong = () => loadConfig({ env: { TOLLGATE_TRANSFER_SECRETS: secrets } })
      expect(wrong).toThrow('transfer.secrets must be an object of names')
      expect(wrong).not.toThrow('hidden')
    },
  )
})
