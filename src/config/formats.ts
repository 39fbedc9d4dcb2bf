import { FormatRegistry } from '@sinclair/typebox'
import { parseInstant } from '../domain/time.ts'
import { addressWithPort, hostWithPort, isAddressRange, isHost } from './hosts.ts'
import { isCipher } from './tls.ts'

/** The format of a text setting: a test, and the text of the error. */
type Format = { readonly test: (text: string) => boolean; readonly expects: string }

const PLACEHOLDERS: ReadonlySet<string> = new Set(['usaget', 'USAGET', 'rating_group'])

export const FORMATS = {
  host: { test: isHost, expects: 'must be an IP address or a host name' },
  'address-range': {
    test: isAddressRange,
    expects: 'must be a list of different IP addresses, or ranges as in 10.0.0.0/8',
  },
  'private-range': {
    test: (text) => isAddressRange(text) || addressWithPort(text) !== null,
    expects:
      'must be a list of different IP addresses, ranges as in 10.0.0.0/8, ' +
      'or addresses with a port as in 127.0.0.1:8183',
  },
  'redis-url': {
    test: (text) =>
      text === 'embedded' ||
      hasUrlForm(text, ['redis:', 'rediss:']) ||
      /^unix:\/\/\/./.test(text) ||
      isClusterUrl(text),
    expects:
      "must be 'embedded', redis://host…, rediss://host…, unix:///path or, for a cluster, " +
      'redis-cluster://host:port,host:port…',
  },
  'mongo-url': {
    // A replica set lists several hosts, which the URL parser rejects.
    test: (text) => text === 'embedded' || /^mongodb(\+srv)?:\/\/[^/\s]+/.test(text),
    expects: "must be 'embedded', mongodb://host… or mongodb+srv://host…",
  },
  'smtp-url': {
    test: (text) => text === '' || hasUrlForm(text, ['smtp:', 'smtps:']),
    expects: 'must be smtp://host…, smtps://host…, or empty: no e-mail is sent',
  },
  'mail-address': {
    test: (text) => text === '' || /^[^@\r\n]{1,200}@[^@\s>]{1,200}>?$/.test(text),
    expects: 'must be an address such as billing@example.org, or empty',
  },
  secret: {
    test: (text) => text.length <= 1024,
    expects: 'must be a text of at most 1024 characters',
  },
  'time-zone': { test: isTimeZone, expects: 'must be an IANA time zone, as in Europe/Paris' },
  'rate-key': {
    test: isRateKey,
    expects:
      'must be a list of different keys; placeholders are {usaget}, {USAGET}, {rating_group}, ' +
      'and {called_number} by itself',
  },
  'country-prefix': {
    test: (text) => /^\d{0,4}$/.test(text),
    expects: 'must be up to 4 digits (quoted in YAML), or empty',
  },
  'free-number': {
    test: (text) => /^\d{1,32}\*?$/.test(text),
    expects: 'must be a list of different numbers: digits (quoted in YAML), with * for all beyond',
  },
  'redirect-address': {
    test: (text) => /^[\x21-\x7e]{0,255}$/.test(text),
    expects: 'must be an address of at most 255 characters without blanks, or empty',
  },
  filter: {
    test: (text) => /^[\x20-\x7e]{1,255}$/.test(text),
    expects: 'must be a list of different filters, each of 1 to 255 characters of ASCII',
  },
  'entity-key': {
    test: (text) => /^[A-Z0-9_]+$/.test(text),
    expects: 'must be capital letters, digits and _',
  },
  'default-tax': {
    test: (text) => /^[A-Z0-9_]*$/.test(text),
    expects: 'must be capital letters, digits and _, or empty for none',
  },
  'file-type': {
    test: (text) => /^[a-zA-Z0-9_]{1,64}$/.test(text),
    expects: 'must be the name of a file type: 1 to 64 letters, digits or _',
  },
  'diameter-identity': {
    test: (text) => text === '' || isDomainName(text),
    expects: 'must be a domain name, as in ocs1.example.net, or empty',
  },
  'diameter-realm': {
    test: isDomainName,
    expects: 'must be a domain name, as in example.net',
  },
  'diameter-realms': {
    test: (text) => text === '*' || isDomainName(text),
    expects: "must be a list of different domain names, or '*' for all",
  },
  'tls-cipher': {
    test: isCipher,
    expects:
      'must be a list of different cipher suites by their OpenSSL names, as in ' +
      'ECDHE-RSA-AES128-GCM-SHA256 or TLS_AES_128_GCM_SHA256',
  },
  instant: {
    test: (text) => text === '' || (/T/.test(text) && parseInstant(text, 'UTC') !== null),
    expects: 'must be a time in ISO 8601, as in 2026-01-31T12:00:00Z, or empty',
  },
  'kafka-broker': {
    test: (text) => hostWithPort(text) !== null,
    expects:
      'must be a list of different brokers, each with its port as in kafka1.example.net:9092',
  },
  'kafka-topic': {
    test: (text) => /^(?!\.{1,2}$)[A-Za-z0-9._-]{0,249}$/.test(text),
    expects: 'must be at most 249 letters, digits, dots, _ or -, or empty',
  },
  'database-name': {
    test: (text) => /^[A-Za-z0-9_-]{1,63}$/.test(text),
    expects: 'must be 1 to 63 letters, digits, _ or -',
  },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof FORMATS

for (const [name, format] of Object.entries(FORMATS)) FormatRegistry.Set(name, format.test)

/** Labels of letters, digits and inner hyphens, separated by dots. */
export function isDomainName(text: string): boolean {
  const label = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
  return text.length <= 253 && text.split('.').every((part) => label.test(part))
}

function hasUrlForm(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return protocols.includes(url.protocol) && url.hostname !== ''
}

/** Seed nodes of a cluster, after credentials that all of them share. */
function isClusterUrl(text: string): boolean {
  const [, user = '', hosts] = /^rediss?-cluster:\/\/([^@/?#]*@)?([^/@?#\s]+)\/?$/.exec(text) ?? []
  if (hosts === undefined) return false
  return hosts.split(',').every((host) => hasUrlForm(`redis://${user}${host}`, ['redis:']))
}

function isTimeZone(name: string): boolean {
  // Intl accepts offsets such as +02:00, but they have no daylight saving time and are not IANA
  // names.
  if (!/^[A-Za-z]/.test(name)) return false
  // The default, without loading the time zones.
  if (name === 'UTC') return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function isRateKey(template: string): boolean {
  if (template === '{called_number}') return true
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '')
  const rest = template.replace(/\{[^{}]*\}/g, '')
  return template.length > 0 && !/[{}\s]/.test(rest) && names.every((n) => PLACEHOLDERS.has(n))
}
