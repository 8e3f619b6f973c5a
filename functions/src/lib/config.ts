import { defineInt, defineSecret, defineString, expr, projectID } from 'firebase-functions/params';

/**
 * The parameters and secrets of the service, and the only place that reads them.
 * Values are read at the time of a request, never while the module loads, since deployment loads it without any.
 */

/** The API key setting: one key a line, so that a new key can be added before the old one is removed. */
export const apiKeySecret = defineSecret('API_KEY');

const corsAllowedOrigins = defineString('CORS_ALLOWED_ORIGINS', {
  default: '',
  label: 'Origins whose pages may call warehouses',
  description: 'Exact origins, comma-separated, such as https://dashboard.example.com. Empty: none.',
});

/** How many instances each function keeps, and how many it may have: a choice of cost, so made at deployment. */
export const instanceLimits = {
  minInstances: defineInt('MIN_INSTANCES', {
    default: 0,
    label: 'Instances that each function keeps waiting',
    description: 'With 0 the first request after a pause waits for a cold start.',
  }),
  maxInstances: defineInt('MAX_INSTANCES', {
    default: 20,
    label: 'Instances that each function has at most',
    description: 'Bounds the cost; requests beyond what so many can take are refused by the platform with 429.',
  }),
};

/**
 * Address of a service account of the project that is deployed to. Firebase's tools complete `name@` only for the function, not
 * for the secret that they grant it.
 */
export const getServiceAccount = (name: string) => expr`${name}@${projectID}.iam.gserviceaccount.com`;

/** The configured keys, none when the setting is unset or blank. */
export const getApiKeys = (): string[] => splitNonBlank(apiKeySecret.value(), '\n');

/** The origins that a browser may call warehouses from. */
export const getAllowedOrigins = (): string[] => splitNonBlank(corsAllowedOrigins.value(), ',');

function splitNonBlank(value: string, separator: string): string[] {
  return value
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
