/** Addresses of the pages: the hash names the page and its state, so any proxy path works. */
import { batch, signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { forgetCalls } from '../api/calls.ts'
import type { WordKey } from '../words/en.ts'

export interface PageProps {
  readonly params: Record<string, string>
}

export interface PageRoute {
  /** Segments; `:name` is a parameter. */
  readonly pattern: string
  readonly title: WordKey
  /** The page in the menu that it belongs to, if it is another one. */
  readonly menu?: string
  readonly load: () => Promise<{ default: ComponentType<PageProps> }>
}

/** Entries of the menu, with the key that follows `g`. */
export const MENU: readonly { readonly page: string; readonly title: WordKey; key: string }[] = [
  { page: 'overview', title: 'page.overview', key: 'o' },
  { page: 'catalogue/plans', title: 'page.catalogue', key: 'p' },
  { page: 'sessions', title: 'page.sessions', key: 's' },
  { page: 'file-types', title: 'page.filetypes', key: 'f' },
  { page: 'usage-files', title: 'page.usagefiles', key: 'l' },
  { page: 'rerate', title: 'page.rerate', key: 'n' },
  { page: 'cycle', title: 'page.cycle', key: 'b' },
  { page: 'invoices', title: 'page.invoices', key: 'i' },
  { page: 'payments', title: 'page.payments', key: 'y' },
  { page: 'reports', title: 'page.reports', key: 'r' },
  { page: 'events', title: 'page.events', key: 'e' },
  { page: 'audit', title: 'page.audit', key: 'a' },
  { page: 'settings', title: 'page.settings', key: 't' },
  { page: 'access', title: 'page.access', key: 'u' },
]

/** Loads the script of a page that is likely to be the next one. */
export function preload(page: string): void {
  const route = routes.find(({ pattern, menu = pattern }) => menu === page)
  // Without it, the page says so when it is opened.
  route?.load().catch(() => undefined)
}

export interface Location {
  /** Null if no page has this address. */
  readonly route: PageRoute | null
  readonly params: Record<string, string>
  /** State of the page: filters, tab, date. Personal data other than ids does not belong here. */
  readonly query: Readonly<Record<string, string>>
}

export const location = signal<Location>({ route: null, params: {}, query: {} })
/** Number of addresses that were gone to, by links or through the history. */
export const entries = signal(0)

/** Address of a page for `href`: `link('customer/7', { tab: 'lines' })`. */
export function link(page: string, query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString()
  return `#/${page}${search === '' ? '' : `?${search}`}`
}

export function navigate(page: string, query: Readonly<Record<string, string>> = {}): void {
  goTo(link(page, query))
}

/** Goes to this page with another state; null removes a value. */
export function navigateHere(changes: QueryChanges): void {
  goTo(linkHere(changes))
}

/** At once: input into the page that is left, until the event of the browser, would be lost. */
function goTo(hash: string): void {
  window.location.hash = hash
  follow()
}

type QueryChanges = Readonly<Record<string, string | null>>

/** Address of this page with another state; null removes a value. */
export function linkHere(changes: QueryChanges): string {
  const { query } = location.value
  const merged = Object.entries({ ...query, ...changes }).filter(([, value]) => value !== null)
  const [page = ''] = window.location.hash.replace(/^#\/?/, '').split('?')
  return link(page, Object.fromEntries(merged) as Record<string, string>)
}

/** Changes the state of the page in its address, without an entry in the history. */
export function setQuery(changes: QueryChanges): void {
  window.history.replaceState(window.history.state, '', linkHere(changes))
  followed = window.location.hash
  location.value = readLocation()
}

let routes: readonly PageRoute[] = []
/** The address that `location` describes. */
let followed = ''

/** Follows the address from now on. The first route is the page of an empty address. */
export function startRouting(all: readonly PageRoute[]): void {
  routes = all
  followed = window.location.hash
  location.value = readLocation()
  window.addEventListener('hashchange', follow)
}

function follow(): void {
  if (window.location.hash === followed) return
  followed = window.location.hash
  const next = readLocation()
  if (next.route !== location.peek().route) forgetCalls()
  batch(() => {
    location.value = next
    entries.value += 1
  })
}

function readLocation(): Location {
  const [path = '', search = ''] = window.location.hash.replace(/^#\/?/, '').split('?')
  const query = Object.fromEntries(new URLSearchParams(search))
  if (path === '') return { route: routes[0] ?? null, params: {}, query }
  for (const route of routes) {
    const params = paramsOf(route.pattern, path)
    if (params !== null) return { route, params, query }
  }
  return { route: null, params: {}, query }
}

function paramsOf(pattern: string, path: string): Record<string, string> | null {
  const names = pattern.split('/')
  const values = path.split('/')
  if (names.length !== values.length) return null
  const params: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const value = values[index] ?? ''
    if (name.startsWith(':')) params[name.slice(1)] = decoded(value)
    else if (name !== value) return null
  }
  return params
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
