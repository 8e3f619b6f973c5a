// Without this variable, the SDK would look on the network for credentials that a client lacks.
process.env.METADATA_SERVER_DETECTION = 'none';
