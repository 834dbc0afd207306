import { readFileSync } from 'node:fs'
import { defineConfig, type PluginOption } from 'vite'

/** Which operations the service of this build answers, and which events it tells: screens show what is there. */
function operations(): PluginOption {
  const names = ['virtual:operations', 'virtual:event-types']
  return {
    name: 'operations',
    resolveId: (id) => (names.includes(id) ? `\0${id}` : null),
    load(id) {
      if (!names.some((name) => id === `\0${name}`)) return null
      const source = new URL('../openapi.json', import.meta.url)
      this.addWatchFile(source.pathname)
      const { paths, webhooks } = JSON.parse(readFileSync(source, 'utf8')) as {
        paths: Record<string, object>
        webhooks: Record<string, object>
      }
      if (id.endsWith('event-types')) return `export default new Set(${JSON.stringify(Object.keys(webhooks))})`
      const known = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      )
      return `export default new Set(${JSON.stringify(known)})`
    },
  }
}

export default defineConfig(async ({ command }) => {
  const plugins: PluginOption[] = [operations()]
  // Only where somebody edits: a build needs no more than esbuild.
  if (command === 'serve') plugins.push((await import('@vitejs/plugin-react')).default())
  return {
    base: '/console/',
    plugins,
    esbuild: { jsx: 'automatic' as const },
    build: {
      outDir: '../src/gridloom/platform/console/static',
      emptyOutDir: true,
      target: 'es2023',
      assetsInlineLimit: 0,
      // All styles are smaller than what asking for each screen's would cost.
      cssCodeSplit: false,
      reportCompressedSize: false,
      modulePreload: { polyfill: false },
      rollupOptions: {
        output: {
          // Few files for the first screen: what every screen needs is one, the overview another.
          manualChunks(id: string) {
            if (/\/node_modules\/(react|react-dom|scheduler|@tanstack|openapi-fetch)\//.test(id)) return 'shared'
            if (/\/src\/shared\/(?!ui\/(Sheet|EditForm)|qr\/)/.test(id)) return 'shared'
            if (/\/src\/features\/(overview\/|auctions\/data|inbox\/(backlog|items|Unread))/.test(id)) return 'Overview'
            return undefined
          },
        },
      },
    },
    server: {
      port: 5173,
      proxy: {
        '/console/api': { target: process.env.GRIDLOOM_ADDRESS ?? 'http://127.0.0.1:8000', changeOrigin: false },
        '/console/session': { target: process.env.GRIDLOOM_ADDRESS ?? 'http://127.0.0.1:8000', changeOrigin: false },
        '/auth': { target: process.env.GRIDLOOM_ADDRESS ?? 'http://127.0.0.1:8000', changeOrigin: false },
      },
    },
  }
})
