import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { childEnvironment } from '../../src/config/child-environment.ts'
import { redactUrl } from '../../src/config/error.ts'
import { DEFAULT_FILE, loadConfig } from '../../src/config/load.ts'
import { ConfigSchema, leavesOf } from '../../src/config/schema.ts'
import { fileWith, folder, problemsOf } from '../support/config/files.ts'

describe('the default document', () => {
  const text = readFileSync(DEFAULT_FILE, 'utf8')
  const document: unknown = parse(text)

  it('is the configuration of a process without file and variables', () => {
    expect(loadConfig({ env: {} })).toEqual(document)
    expect(loadConfig({ env: {}, file: fileWith('') })).toEqual(document)
    expect(loadConfig({ env: {}, file: fileWith('realtime:\n  # port: 1\n') })).toEqual(document)
  })

  it('is changed by settings.yaml of the data folder, for commands, and by the operator', () => {
    const dataDir = mkdtempSync(join(folder, 'data-'))
    const env = { TOLLGATE_DATA_DIR: dataDir }
    const codeOf = (options: object) => {
      return loadConfig({ env, withDataFolder: true, ...options }).rating.currencyCode
    }
    expect(codeOf({})).toBe(999)
    writeFileSync(join(dataDir, 'settings.yaml'), 'rating:\n  currencyCode: 826\n')
    expect(codeOf({})).toBe(826)
    expect(codeOf({ withDataFolder: false })).toBe(999)
    expect(codeOf({ file: fileWith('rating:\n  currencyCode: 978\n') })).toBe(978)
    expect(codeOf({ env: { ...env, TOLLGATE_RATING_CURRENCY_CODE: '756' } })).toBe(756)
    writeFileSync(join(dataDir, 'settings.yaml'), 'rating: {currency: 826}\n')
    expect(() => codeOf({})).toThrow(
      /rating\.currency.*settings\.yaml|settings\.yaml.*rating\.currency/,
    )
  })

  it('has exactly the settings of the schema, in the same order', () => {
    const known = leavesOf(ConfigSchema).map((leaf) => leaf.path)
    const pathsIn = (section: object, prefix: string): string[] =>
      Object.entries(section).flatMap(([key, value]) => {
        const path = `${prefix}${key}`
        const isSection = known.some((one) => one.startsWith(`${path}.`))
        return isSection ? pathsIn(value as object, `${path}.`) : [path]
      })
    expect(pathsIn(document as object, '')).toEqual(known)
  })

  it('has a comment above each setting', () => {
    const lines = text.split('\n')
    const known = leavesOf(ConfigSchema).map((leaf) => leaf.path.split('.').slice(1))
    const isSetting = (line: string) => {
      const [, indent = '', key = ''] = /^( +)(\w+):/.exec(line) ?? []
      return known.some((path) => path.length * 2 === indent.length && path.at(-1) === key)
    }
    // The first of several related settings has the comment, such as a certificate and its key.
    const isCommented = (index: number) =>
      [1, 2].some((above) => /^ {2,}# \S/.test(lines[index - above] ?? ''))
    const bare = lines.filter((line, index) => isSetting(line) && !isCommented(index))
    expect(bare).toEqual([])
    expect(lines.filter(isSetting)).toHaveLength(leavesOf(ConfigSchema).length)
  })
})

describe('sources of settings', () => {
  it('are applied in the order document, file, variable', () => {
    const file = fileWith('realtime:\n  port: 1000\n  workers: 4\n')
    const config = loadConfig({ file, env: { TOLLGATE_REALTIME_PORT: '2000' } })
    expect(config.realtime.port).toBe(2000)
    expect(config.realtime.workers).toBe(4)
    expect(config.realtime.batchSizeMax).toBe(64)
  })

  it('TOLLGATE_CONFIG names the file, and the argument overrides it', () => {
    const one = fileWith('log: { level: warn }')
    const two = fileWith('log: { level: error }')
    expect(loadConfig({ env: { TOLLGATE_CONFIG: one } }).log.level).toBe('warn')
    expect(loadConfig({ file: two, env: { TOLLGATE_CONFIG: one } }).log.level).toBe('error')
  })

  it('include variables with numbers, booleans, lists and texts', () => {
    const config = loadConfig({
      env: {
        TOLLGATE_REALTIME_BATCHES_IN_FLIGHT_MAX: '7',
        TOLLGATE_RECORDER_ENABLED: 'false',
        TOLLGATE_RATING_RATE_KEYS: '{usaget}, ALL',
        TOLLGATE_LEDGER_PARTITIONS: '8',
        TOLLGATE_REDIS_URL: 'redis://user:pw@cache:6379/2',
        PATH: '/bin',
      },
    })
    expect(config.realtime.batchesInFlightMax).toBe(7)
    expect(config.recorder.enabled).toBe(false)
    expect(config.rating.rateKeys).toEqual(['{usaget}', 'ALL'])
    expect(config.ledger.partitions).toBe(8)
    expect(config.redis.url).toBe('redis://user:pw@cache:6379/2')
  })

  it('provide rules from a file, or as JSON from a variable, which replaces all of them', () => {
    const file = fileWith(
      'rating:\n  customerIdentification: { data: [{ src_key: imsi }] }\n' +
        '  rateCalculators:\n    retail: { call: { priorities: [] } }\n',
    )
    const env = { TOLLGATE_RATING_RATE_CALCULATORS: '{"wholesale": {"*": [[]]}}' }
    const { rating } = loadConfig({ file, env })
    expect(rating.customerIdentification).toEqual({ data: [{ src_key: 'imsi' }] })
    expect(rating.rateCalculators).toEqual({ wholesale: { '*': [[]] } })
    expect(Object.isFrozen(rating.customerIdentification['data'])).toBe(true)
  })

  it('provide free numbers, a country prefix, or neither', () => {
    const given = {
      TOLLGATE_RATING_FREE_NUMBERS: '112, 0800*',
      TOLLGATE_RATING_COUNTRY_PREFIX: '49',
    }
    const { rating } = loadConfig({ env: given })
    expect(rating.freeNumbers).toEqual(['112', '0800*'])
    expect(rating.countryPrefix).toBe('49')
    const none = { TOLLGATE_RATING_FREE_NUMBERS: '', TOLLGATE_RATING_COUNTRY_PREFIX: '' }
    expect(loadConfig({ env: none }).rating).toEqual(loadConfig({ env: {} }).rating)
  })

  it('have one variable per setting, and none is called TOLLGATE_CONFIG', () => {
    const variables = leavesOf(ConfigSchema).map((leaf) => leaf.variable)
    expect(new Set([...variables, 'TOLLGATE_CONFIG']).size).toBe(variables.length + 1)
  })

  it('produce a deeply frozen configuration', () => {
    const config = loadConfig({ env: {} })
    const parts = [config, ...Object.values(config), config.rating.rateKeys]
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true)
  })
})

describe('invalid settings', () => {
  it('are listed together, with key, source and reason', () => {
    const file = fileWith('realtime:\n  prot: 1\n  port: high\nlegder:\n  partitions: 8\n')
    const { message } = problemsOf({
      file,
      env: { TOLLGATE_REALTIME_WORKERS: 'many', TOLLGATE_REALTIME_WORKER: '1' },
    })
    expect(message.split('\n').slice(1)).toEqual([
      `  realtime.prot is not a known setting; did you mean realtime.port? (${file})`,
      `  realtime.port must be an integer from 0 to 65535, not 'high' (${file})`,
      `  legder is not a known setting; did you mean ledger? (${file})`,
      "  realtime.workers must be an integer from 0 to 256, not 'many' (TOLLGATE_REALTIME_WORKERS)",
      '  TOLLGATE_REALTIME_WORKER is not a known setting; did you mean TOLLGATE_REALTIME_WORKERS?' +
        ' (environment)',
    ])
  })

  it('are reported with the same key in another section', () => {
    const { problems } = problemsOf({ file: fileWith('realtime: { validityMs: 5000 }') })
    expect(problems[0]?.reason).toContain('did you mean session.validityMs?')
  })

  it.each([
    [
      'TOLLGATE_REALTIME_OPEN_TO',
      'all',
      'realtime.openTo must be one of loopback, network, nobody',
    ],
    ['TOLLGATE_REALTIME_DEFAULT_FILE_TYPE', 'a-b', 'realtime.defaultFileType must be the name of'],
    ['TOLLGATE_REALTIME_DEFAULT_FILE_TYPE', '', 'realtime.defaultFileType must be the name of'],
    ['TOLLGATE_LEDGER_PARTITIONS', '48', 'ledger.partitions must be one of 1, 2, 4'],
    ['TOLLGATE_REALTIME_PORT', '1.5', 'realtime.port must be an integer'],
    ['TOLLGATE_REALTIME_PORT', '', 'realtime.port must be an integer'],
    ['TOLLGATE_REALTIME_PORT', '65536', 'realtime.port must be an integer from 0 to 65535'],
    ['TOLLGATE_RATING_TIME_ZONE', 'Mars/Olympus', 'rating.timeZone must be an IANA time zone'],
    ['TOLLGATE_RATING_TIME_ZONE', '+02:00', 'rating.timeZone must be an IANA time zone'],
    ['TOLLGATE_RATING_CYCLE_DAY', '29', 'rating.cycleDay must be an integer from 1 to 28'],
    ['TOLLGATE_RATING_RATE_KEYS', '{imsi}', 'rating.rateKeys must be a list of different keys'],
    ['TOLLGATE_RATING_RATE_KEYS', 'A,A', 'rating.rateKeys must be a list of different keys'],
    ['TOLLGATE_RATING_RATE_KEYS', '', 'rating.rateKeys must be a list of different keys'],
    ['TOLLGATE_RATING_RATE_KEYS', 'A{called_number}', 'rating.rateKeys must be a list of'],
    ['TOLLGATE_RATING_RATE_CALCULATORS', '{', 'rating.rateCalculators must be an object of tariff'],
    ['TOLLGATE_RATING_RATE_CALCULATORS', '[]', 'rating.rateCalculators must be an object of'],
    ['TOLLGATE_RATING_RATE_CALCULATORS', '{"retail":1}', 'rating.rateCalculators must be an'],
    ['TOLLGATE_RATING_CUSTOMER_IDENTIFICATION', '{"data":{}}', 'must be an object of usage types'],
    ['TOLLGATE_RATING_COUNTRY_PREFIX', '+49', 'rating.countryPrefix must be up to 4 digits'],
    ['TOLLGATE_RATING_FREE_NUMBERS', '112,*', 'rating.freeNumbers must be a list of different'],
    ['TOLLGATE_RATING_FREE_NUMBERS', '112,112', 'rating.freeNumbers must be a list of different'],
    ['TOLLGATE_RATING_DEFAULT_TAX', 'vat', 'rating.defaultTax must be capital letters'],
    ['TOLLGATE_RECORDER_ENABLED', 'yes', 'recorder.enabled must be true or false'],
    ['TOLLGATE_REDIS_URL', 'http://cache', "redis.url must be 'embedded', redis://"],
    ['TOLLGATE_REDIS_URL', 'unix://', "redis.url must be 'embedded', redis://"],
    ['TOLLGATE_MONGO_URL', 'redis://cache', "mongo.url must be 'embedded', mongodb://"],
    ['TOLLGATE_MONGO_DATABASE', 'a/b', 'mongo.database must be 1 to 63 letters'],
    ['TOLLGATE_DATA_DIR', '', 'data.dir must be a text that is not empty'],
    ['TOLLGATE_LOG_LEVEL', 'loud', 'log.level must be one of trace, debug'],
  ])('%s=%s', (name, value, reason) => {
    expect(problemsOf({ env: { [name]: value } }).message).toContain(reason)
  })

  it.each(['unix:///run/redis.sock', 'rediss://cache:1'])('%s is a Redis URL', (url) => {
    expect(loadConfig({ env: { TOLLGATE_REDIS_URL: url } }).redis.url).toBe(url)
  })

  it.each(['mongodb://a,b:2/?replicaSet=r', 'mongodb+srv://c'])('%s is a MongoDB URL', (url) => {
    expect(loadConfig({ env: { TOLLGATE_MONGO_URL: url } }).mongo.url).toBe(url)
  })

  it('a directory entry that expires before its session is refused, with all sources', () => {
    const file = fileWith('session: { validityMs: 604800000 }')
    const { problems } = problemsOf({ file, env: { TOLLGATE_SESSION_GRACE_MS: '0' } })
    expect(problems[0]?.key).toBe('ledger.directoryTtlMs')
    expect(problems[0]?.reason).toContain(`must be at least 605400000`)
    expect(problems[0]?.reason).toContain(`session.validityMs (${file})`)
    expect(problems[0]?.reason).toContain('session.graceMs (TOLLGATE_SESSION_GRACE_MS)')
  })

  it('a backlog refusal limit below the warning limit is refused', () => {
    const { problems } = problemsOf({ file: fileWith('ledger: { backlogWarnPercent: 60 }') })
    expect(problems[0]?.key).toBe('ledger.backlogRefusePercent')
    expect(problems[0]?.reason).toContain('must be more than 60')
  })

  it('lines are not removed while their records may come again in a file', () => {
    const { problems } = problemsOf({ file: fileWith('retention: { linesDays: 123 }') })
    expect(problems[0]?.reason).toContain('must be 0 or at least 124, which is 31 × (rating.record')
    loadConfig({ env: {}, file: fileWith('retention: { linesDays: 124 }') })
  })

  it('event loops that share a port are refused if HTTP is served in JavaScript', () => {
    const file = fileWith('realtime: { listeners: 2 }')
    const env = { TOLLGATE_REALTIME_HTTP_SERVER: 'javascript' }
    expect(problemsOf({ file, env }).problems).toEqual([
      {
        key: 'realtime.listeners',
        source: file,
        reason:
          'must be 1, because realtime.httpServer (TOLLGATE_REALTIME_HTTP_SERVER) is javascript, ' +
          'which cannot share a port',
      },
    ])
    expect(loadConfig({ file, env: {} }).realtime.listeners).toBe(2)
    const alone = { ...env, TOLLGATE_REALTIME_LISTENERS: '1' }
    expect(loadConfig({ file, env: alone }).realtime.httpServer).toBe('javascript')
  })

  it('a worker on the event loop is refused with further workers or event loops', () => {
    const kind = { TOLLGATE_REALTIME_WORKER_KIND: 'inline' }
    for (const key of ['workers', 'listeners']) {
      const file = fileWith(`realtime: { ${key}: 2 }`)
      const reason =
        'must be at most 1, because realtime.workerKind (TOLLGATE_REALTIME_WORKER_KIND) is inline'
      const problem = { key: `realtime.${key}`, source: file, reason }
      expect(problemsOf({ file, env: kind }).problems).toEqual([problem])
      expect(loadConfig({ file, env: {} }).realtime.workerKind).toBe('auto')
    }
    const { realtime } = loadConfig({ env: kind })
    expect(realtime).toMatchObject({ workerKind: 'inline', workers: 0, listeners: 1 })
  })

  it.each([
    ['url', '', 'must be a URL, as in https://shop.example.net/'],
    ['url', 'ftp://shop.example.net/', 'must be a URL, as in https://shop.example.net/'],
    ['url', 'https:///', 'must be a URL, as in https://shop.example.net/'],
    ['ipv4', '::1', 'must be an IPv4 address'],
    ['ipv4', '10.0.0.256', 'must be an IPv4 address'],
    ['ipv6', '10.0.0.1', 'must be an IPv6 address'],
    ['sip', 'shop@example.net', 'must be a SIP URI, as in sip:…'],
  ])('a redirection to %s %j is refused', (type, address, reason) => {
    const { problems } = problemsOf({
      file: fileWith(`session: { finalUnitAction: redirect, redirectAddressType: ${type} }`),
      env: { TOLLGATE_SESSION_REDIRECT_ADDRESS: address },
    })
    expect(problems.map(({ key }) => key)).toEqual(['session.redirectAddress'])
    expect(problems[0]?.reason).toContain(`${reason}, because session.finalUnitAction (`)
  })

  it.each([
    ['url', 'https://shop.example.net/top-up'],
    ['ipv4', '10.0.0.1'],
    ['ipv6', '2001:db8::1'],
    ['sip', 'sips:shop@example.net'],
  ])('a redirection to %s %s is accepted', (type, address) => {
    const redirect = `finalUnitAction: redirect, redirectAddressType: ${type}`
    const file = fileWith(`session: { ${redirect}, redirectAddress: '${address}' }`)
    expect(loadConfig({ file, env: {} }).session.redirectAddress).toBe(address)
  })

  it.each([
    ['session: { redirectAddress: "a b" }', 'session.redirectAddress must be an address of'],
    ['session: { restrictionFilters: [""] }', 'session.restrictionFilters must be a list of'],
    ['session: { quotaThresholdPercent: 100 }', 'session.quotaThresholdPercent must be an integer'],
    ['realtime: { returnCodes: { ok: x } }', 'realtime.returnCodes must be an object of outcomes'],
  ])('%s is refused', (document, problem) => {
    expect(problemsOf({ file: fileWith(document), env: {} }).message).toContain(problem)
  })

  it('a shutdown time-out below the request time-out, or a slower Redis, is refused', () => {
    const { problems } = problemsOf({
      file: fileWith('realtime: { requestTimeoutMs: 1500 }\nshutdown: { timeoutMs: 4499 }'),
      env: { TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '1500' },
    })
    expect(problems.map(({ key, reason }) => `${key} ${reason.split(',')[0]}`)).toEqual([
      'redis.commandTimeoutMs must be less than 1500',
      'shutdown.timeoutMs must be at least 4500',
    ])
    expect(problems[0]?.source).toBe('TOLLGATE_REDIS_COMMAND_TIMEOUT_MS')
    expect(problems[1]?.reason).toContain('which is 3 × realtime.requestTimeoutMs (')
  })

  it('a process started with a part of the time accepts it unchanged', () => {
    const env = { TOLLGATE_SHUTDOWN_TIMEOUT_MS: '1800' }
    expect(loadConfig({ env, isPart: true }).shutdown.timeoutMs).toBe(1800)
    expect(problemsOf({ env }).problems[0]?.key).toBe('shutdown.timeoutMs')
  })

  it('a missing or broken file, no mapping, or a duplicate key causes a named error', () => {
    const missing = join(folder, 'missing.yaml')
    expect(problemsOf({ file: missing }).message).toContain(`cannot be read: ENOENT (${missing})`)
    expect(problemsOf({ file: fileWith('a: [') }).message).toContain('line 1 is not YAML')
    expect(problemsOf({ file: fileWith('- a') }).message).toContain('document must be a section')
    expect(problemsOf({ file: fileWith('log: loud') }).message).toContain('log must be a section')
    const twice = 'log:\n  level: info\n  level: warn\n'
    expect(problemsOf({ file: fileWith(twice) }).message).toContain('line 3 is not YAML')
    expect(problemsOf({ file: fileWith('log: { level: }') }).message).toContain('not empty')
    expect(problemsOf({ file: fileWith('__proto__: { a: 1 }') }).message).toContain('__proto__')
    expect(problemsOf({ file: fileWith('constructor: { a: 1 }') }).message).toContain('constructor')
  })
})

describe('secrets', () => {
  it.each([
    'http://user:s3cret@host',
    'redis:/user:s3cret@host',
    's3cret@host',
    'redis://:s3cret',
    'http://host/?password=s3cret',
    'http://user:p@s3cret@host',
  ])('%s does not reveal its password', (url) => {
    const env = { TOLLGATE_REDIS_URL: url, TOLLGATE_MONGO_URL: url }
    expect(problemsOf({ env }).message).not.toContain('s3cret')
  })

  it('nor does a URL under another key, or in broken YAML', () => {
    const env = { TOLLGATE_REALTIME_HOST: 'redis://a:s3cret@b' }
    expect(problemsOf({ env }).message).toContain('redis://***@b')
    const file = fileWith('redis:\n  url: redis://:s3cret@host\n  url: [\n')
    expect(problemsOf({ file }).message).not.toContain('s3cret')
    const unknown = fileWith('redis:\n  password: s3cret\n')
    expect(problemsOf({ file: unknown }).message).not.toContain('s3cret')
  })

  it('redactUrl keeps the public parts', () => {
    expect(redactUrl('redis://cache:6379/1')).toBe('redis://cache:6379/1')
    expect(redactUrl('mongodb://u:p@a,b/db?replicaSet=r')).toBe('mongodb://***@a,b/db?***')
  })
})

describe('a value in a file', () => {
  it('is that of the variable with the suffix _FILE', () => {
    const env = {
      TOLLGATE_SECRETS_KEY_FILE: fileWith(' a key, with a comma\n'),
      TOLLGATE_SECRETS_OLD_KEYS_FILE: fileWith('one, old\n\ntwo\r\n'),
      TOLLGATE_REDIS_URL_FILE: fileWith('redis://:s3cret@cache\n'),
      TOLLGATE_CATALOG_POLL_MS_FILE: fileWith('250\n'),
      TOLLGATE_CATALOG_POLL_MS: '',
      TOLLGATE_ADMIN_TLS_CERT_FILE: 'server.pem',
    }
    const { secrets, redis, catalog, admin } = loadConfig({ env })
    expect(secrets).toEqual({ key: 'a key, with a comma', oldKeys: ['one, old', 'two'] })
    expect([redis.url, catalog.pollMs]).toEqual(['redis://:s3cret@cache', 250])
    expect(admin.tls.certFile).toBe('server.pem')
  })

  it('is refused by name if it is unreadable, invalid, or given twice', () => {
    const missing = join(folder, 'missing')
    const env = {
      TOLLGATE_SECRETS_KEY_FILE: missing,
      TOLLGATE_CATALOG_POLL_MS_FILE: fileWith('s3cret'),
      TOLLGATE_REDIS_URL_FILE: fileWith('redis://cache'),
      TOLLGATE_REDIS_URL: 'redis://other',
      TOLLGATE_SECRETS_KEYS_FILE: missing,
      TOLLGATE_MONGO_URL_FILE: fileWith('\n'),
      TOLLGATE_SECRETS_OLD_KEYS: 's3cret,s3cret',
    }
    const { message } = problemsOf({ env })
    expect(message).toContain('secrets.key names a file that cannot be read: ENOENT')
    expect(message).toContain('mongo.url names a file that is empty')
    expect(message).toContain('catalog.pollMs must be an integer from 10 to 60000 (what is in the')
    expect(message).toContain('redis.url is given twice, also by TOLLGATE_REDIS_URL')
    expect(message).toContain('TOLLGATE_SECRETS_KEYS_FILE is not a known setting')
    expect(message).toContain('secrets.oldKeys must be a text of at most 1024 characters')
    expect(message).not.toContain('s3cret')
  })

  it('is not passed on to a process that receives another value', () => {
    vi.stubEnv('TOLLGATE_REDIS_URL_FILE', '/run/secrets/redis')
    vi.stubEnv('TOLLGATE_SECRETS_KEY_FILE', '/run/secrets/key')
    const env = childEnvironment({ 'redis.url': 'unix:///run/redis' })
    vi.unstubAllEnvs()
    expect(env['TOLLGATE_REDIS_URL']).toBe('unix:///run/redis')
    expect(env).not.toHaveProperty('TOLLGATE_REDIS_URL_FILE')
    expect(env['TOLLGATE_SECRETS_KEY_FILE']).toBe('/run/secrets/key')
  })
})
