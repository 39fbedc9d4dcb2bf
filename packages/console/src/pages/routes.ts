/** All pages, each loaded on demand. */
import type { PageRoute } from '../frame/routes.ts'

type Load = PageRoute['load']

/** A page of the menu: its address has no parameters. */
function page(menu: string, title: PageRoute['title'], load: Load): PageRoute {
  return { pattern: menu, title, menu, load }
}

const loadCatalogue: Load = () => import('./catalogue/page.tsx')
const catalogue = { title: 'page.catalogue', menu: 'catalogue/plans', load: loadCatalogue } as const

/** The first is the page of an empty address. */
export const ROUTES: readonly PageRoute[] = [
  page('overview', 'page.overview', () => import('./overview/page.tsx')),
  {
    pattern: 'customer/:of/:id',
    title: 'page.customer',
    menu: 'customer',
    load: () => import('./customer/page.tsx'),
  },
  page('sessions', 'page.sessions', () => import('./sessions/page.tsx')),
  page('file-types', 'page.filetypes', () => import('./file-types/page.tsx')),
  page('cycle', 'page.cycle', () => import('./cycle/page.tsx')),
  page('invoices', 'page.invoices', () => import('./invoices/page.tsx')),
  page('payments', 'page.payments', () => import('./payments/page.tsx')),
  page('reports', 'page.reports', () => import('./reports/page.tsx')),
  page('events', 'page.events', () => import('./events/page.tsx')),
  page('audit', 'page.audit', () => import('./audit/page.tsx')),
  page('settings', 'page.settings', () => import('./settings/page.tsx')),
  page('access', 'page.access', () => import('./access/page.tsx')),
  { pattern: 'catalogue/:collection', ...catalogue },
  { pattern: 'catalogue/:collection/:key', ...catalogue },
]
